//===- Parameters.h - Reads a kernel's integers, checked ------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_PARAMETERS_H
#define ZERO_LIB_RUNTIME_KERNELS_PARAMETERS_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <span>
#include <vector>

namespace zero::kernels {

/// The integers of one kernel, taken from the front in the order of KernelTable.inc. Errors are kept until
/// `finish`, so that a factory reads everything first; values read after an error are 0.
class Parameters {
public:
  Parameters(const char *kernel, std::span<const int64_t> integers) : kernel(kernel), integers(integers) {}

  int64_t next() {
    if (position < integers.size())
      return integers[position++];
    ++position;
    return 0;
  }
  /// A size or count: not negative.
  int64_t size(const char *what) {
    int64_t value = next();
    if (value < 0)
      fail(std::string(what) + " is " + std::to_string(value) + ", must not be negative");
    return value < 0 ? 0 : value;
  }
  std::vector<int64_t> list(int64_t count) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count && position < integers.size(); ++i)
      values.push_back(next());
    position += count - static_cast<int64_t>(values.size());
    return values;
  }
  int64_t remaining() const { return position < integers.size() ? integers.size() - position : 0; }
  void fail(std::string message) {
    if (first.ok())
      first = Status::badInput("kernel '" + std::string(kernel) + "': " + std::move(message));
  }
  Status finish() {
    if (position != integers.size())
      fail("takes " + std::to_string(position) + " integers, got " + std::to_string(integers.size()));
    return first;
  }

private:
  const char *kernel;
  std::span<const int64_t> integers;
  size_t position = 0;
  Status first;
};

} // namespace zero::kernels

#endif
