//===- Values.h - Integers of data against what the model takes -----------===//
#ifndef ZERO_LIB_RUNTIME_DATA_VALUES_H
#define ZERO_LIB_RUNTIME_DATA_VALUES_H

#include "zero/Container/PlanView.h"
#include "zero/Runtime/Base/Status.h"
#include <vector>

namespace zero {

/// "[3, 5]": where element `index` of an array of that shape stands.
std::string positionText(uint64_t index, const std::vector<uint64_t> &shape);

/// Every integer of `data`, the elements from `first` on of an array of that shape, lies in [0, limit) or is the ignore index, as
/// the input says; others are named with their place.
Status checkValues(const schema::Input &input, std::string_view data, const std::vector<uint64_t> &shape, uint64_t first = 0);

} // namespace zero

#endif
