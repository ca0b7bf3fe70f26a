//===- OrderedSum.h - Sums of all ranks' contributions, in rank order -----===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_ORDEREDSUM_H
#define ZERO_LIB_RUNTIME_HAL_COMM_ORDEREDSUM_H

#include <cstdint>
#include <cstring>
#include <limits>

namespace zero {

/// target[i] = c[0][i] + c[1][i] + ..., in that order, where c[r] starts `offset` elements into contributions[r]. `target` may
/// be one of them.
template <typename T>
void sumInRankOrder(const void *const *contributions, uint64_t offset, unsigned ranks, T *target, uint64_t elements) {
  constexpr uint64_t kBlock = 1024; // in the first-level cache, also while contributions stream by
  T sums[kBlock];
  for (uint64_t begin = 0; begin < elements; begin += kBlock) {
    uint64_t count = elements - begin < kBlock ? elements - begin : kBlock;
    std::memcpy(sums, static_cast<const T *>(contributions[0]) + offset + begin, count * sizeof(T));
    for (unsigned rank = 1; rank < ranks; ++rank) {
      const T *values = static_cast<const T *>(contributions[rank]) + offset + begin;
      for (uint64_t i = 0; i < count; ++i) {
        if constexpr (std::numeric_limits<T>::is_integer) // wraps, without undefined behaviour
          sums[i] = static_cast<T>(static_cast<uint64_t>(sums[i]) + static_cast<uint64_t>(values[i]));
        else
          sums[i] += values[i];
      }
    }
    std::memcpy(target + begin, sums, count * sizeof(T));
  }
}

} // namespace zero

#endif
