//===- NearestName.h - What the user may have meant -----------------------===//
#ifndef ZERO_RUNTIME_BASE_NEARESTNAME_H
#define ZERO_RUNTIME_BASE_NEARESTNAME_H

#include <string>
#include <string_view>
#include <vector>

namespace zero {

/// The candidate with the fewest edits (insert, erase, replace a character) from `name`; empty without candidates.
std::string nearestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace zero

#endif
