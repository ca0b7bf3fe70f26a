//===- Arena.h - One range of memory, allocated once ----------------------===//
//
// Equivalent to: one cuMemAlloc, one mmap. Its pages are in place before the first step.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_ARENA_H
#define ZERO_RUNTIME_HAL_ARENA_H

#include <cstddef>
#include <cstdint>

namespace zero {

class Arena {
public:
  virtual ~Arena() = default;
  /// Filled with zero bytes at first; at a multiple of 4096.
  virtual std::byte *data() const = 0;
  virtual uint64_t size() const = 0;
};

} // namespace zero

#endif
