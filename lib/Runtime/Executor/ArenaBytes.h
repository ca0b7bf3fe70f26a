//===- ArenaBytes.h - A range of an arena ---------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_ARENABYTES_H
#define ZERO_LIB_RUNTIME_EXECUTOR_ARENABYTES_H

#include <cstddef>
#include <cstdint>

namespace zero {

/// By its address on the device.
struct ArenaBytes {
  std::byte *address = nullptr;
  uint64_t size = 0;
};

} // namespace zero

#endif
