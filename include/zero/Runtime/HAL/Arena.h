//===- Arena.h - One range of memory, allocated once ----------------------===//
//
// Equivalent to: one cuMemAlloc, one mmap. Its pages are in place before the first step.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_ARENA_H
#define ZERO_RUNTIME_HAL_ARENA_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero {

/// Bytes of an arena: [begin, end).
struct ByteRange {
  uint64_t begin, end;
};

/// Memory that other processes of the machine can map: bytes `ranges` of `base` are the same bytes of `file`. Both start and end
/// where pages do; outside of them the file is empty.
struct SharedMemory {
  std::byte *base = nullptr;
  uint64_t size = 0;
  int file = -1;
  bool inLargePages = false; ///< mapped at a multiple of 2 MiB, what is read costs a peer one fault for 2 MiB
  std::vector<ByteRange> ranges;
};

class Arena {
public:
  virtual ~Arena() = default;
  /// Filled with zero bytes at first; at a multiple of 4096.
  virtual std::byte *data() const = 0;
  virtual uint64_t size() const = 0;
  /// What of it peers can map; without ranges where nothing was asked for. Lives as long as the arena.
  virtual SharedMemory shared() const { return {}; }
};

} // namespace zero

#endif
