//===- SumOrder.h - In which order a library adds partial sums ------------===//
//
// Of calls that may add in any order: another one for each ZERO_SHIM_TIMING, so that who relies on one is found out.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_SUMORDER_H
#define ZERO_TEST_CUDA_SHIM_SUMORDER_H

#include "test/CUDA/Shim/Report.h"
#include <utility>
#include <vector>

namespace zero::shim {

inline uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3; }

/// The parts that a sum is split in, in the order in which they are added.
inline std::vector<uint32_t> partsOf(uint32_t split) {
  std::vector<uint32_t> order(split);
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : setting("ZERO_SHIM_TIMING"))
    hash = mix(hash, static_cast<unsigned char>(c));
  for (uint32_t i = 0; i < split; ++i)
    order[i] = i;
  for (uint32_t left = split; left > 1; --left, hash = mix(hash, left))
    std::swap(order[left - 1], order[(hash >> 17) % left]);
  return order;
}

} // namespace zero::shim

#endif
