//===- NumberText.h - Numbers as people write them ------------------------===//
#ifndef ZERO_RUNTIME_BASE_NUMBERTEXT_H
#define ZERO_RUNTIME_BASE_NUMBERTEXT_H

#include <charconv>
#include <string>

namespace zero {

/// The shortest text that is this number and no other: of two numbers that differ a message shows how.
inline std::string shortestText(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

} // namespace zero

#endif
