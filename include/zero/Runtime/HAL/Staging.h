//===- Staging.h - Scratch bytes of collectives: arithmetic both sides use ===//
//
// Standard library only: the compiler includes this to plan what the channels then use. The sizes fit every channel that a
// target allows, so `--comm` changes no size.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_STAGING_H
#define ZERO_RUNTIME_HAL_STAGING_H

#include <algorithm>
#include <cstdint>

namespace zero {

/// Bytes that one message of a collective carries at most.
inline constexpr uint64_t kCollectiveChunkBytes = 512 * 1024;
/// Chunks of a collective that are under way at once: one is summed while the next arrives.
inline constexpr uint64_t kCollectiveChunksInFlight = 2;

/// Staging of a reduce_scatter whose result is `shardBytes` on each rank: what the peers send, chunk by chunk.
inline uint64_t reduceScatterStagingBytes(uint64_t shardBytes, uint64_t worldSize) {
  if (worldSize <= 1)
    return 0;
  uint64_t chunk = std::min(shardBytes, kCollectiveChunkBytes);
  uint64_t inFlight = shardBytes > kCollectiveChunkBytes ? kCollectiveChunksInFlight : 1;
  return inFlight * (worldSize - 1) * chunk;
}

/// Staging of a control_sum of `bytes`: the values of every peer. An all_gather needs none.
inline uint64_t controlSumStagingBytes(uint64_t bytes, uint64_t worldSize) { return (worldSize - 1) * bytes; }

} // namespace zero

#endif
