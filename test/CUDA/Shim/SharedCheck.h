//===- SharedCheck.h - Finds unsynchronized accesses to shared memory -----===//
//
// For objects that were compiled with ZERO_SHIM_CHECK=shared: two threads that access the same byte of shared memory, one of them writing,
// without a barrier between them or, inside of a warp, one of its own.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_SHAREDCHECK_H
#define ZERO_TEST_CUDA_SHIM_SHAREDCHECK_H

#include "test/CUDA/Shim/Report.h"
#include <array>

namespace zero::shim {

/// Of one block. Threads are known by their number in it.
class SharedCheck {
public:
  void beginBlock(unsigned threads);
  /// All threads of the block have met.
  void barrier() { ++interval; }
  /// The lanes of `mask` have met.
  void meet(unsigned warp, unsigned mask);

  struct Race {
    unsigned thread; ///< the other one
    bool wroteBefore;
  };
  /// `byte` of shared memory is accessed; a race, or none.
  bool access(uint64_t byte, unsigned thread, bool isWrite, Race &race);

private:
  struct Touch {
    unsigned thread;
    uint64_t time; ///< of that thread's own clock
  };
  struct Byte {
    uint64_t interval = ~uint64_t(0);
    bool written = false;
    Touch writer = {};
    std::vector<Touch> readers;
  };
  /// What lanes of one warp know of each other.
  struct Warp {
    std::array<uint64_t, 32> clock = {};
    std::array<std::array<uint64_t, 32>, 32> known = {};
  };
  bool isOrdered(const Touch &before, unsigned thread) const;

  uint64_t interval = 0;
  std::vector<Warp> warps;
  std::vector<Byte> bytes;
};

} // namespace zero::shim

#endif
