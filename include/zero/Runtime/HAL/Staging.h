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

/// Bytes that one message of a collective carries at most: a little less than what OpenMPI sends over TCP at once, without asking the
/// receiver first. Larger messages wait for an answer each, which takes long where both sides look only now and then (measured at 1 Gbit/s:
/// 32 MiB each way in 278 ms, in 520 ms with messages of 4 MiB, two at a time; 281 ms are the wire's).
inline constexpr uint64_t kCollectiveChunkBytes = 65024;
/// Chunks of a reduce_scatter that are under way at once: some are summed while the others arrive.
inline constexpr uint64_t kCollectiveChunksInFlight = 16;

/// Zeros that messages leave out come in blocks of so many bytes, counted from the beginning of a message.
inline constexpr uint64_t kZeroBlockBytes = 64;

/// Staging of a reduce_scatter whose result is `shardBytes` on each rank: what the peers send, chunk by chunk.
inline uint64_t reduceScatterStagingBytes(uint64_t shardBytes, uint64_t worldSize) {
  if (worldSize <= 1)
    return 0;
  return (worldSize - 1) * std::min(shardBytes, kCollectiveChunksInFlight * kCollectiveChunkBytes);
}

/// Bytes that the peers of a rank send to a GPU in one round of a sum in rank order, all of them together: links of hundreds of GB/s are idle
/// between rounds, for some ten microseconds.
inline constexpr uint64_t kDeviceRoundBytes = 32 << 20;

/// Staging of such a sum: a round of what the peers send. Of many peers each has at least as much as on hosts.
inline uint64_t deviceReduceScatterStagingBytes(uint64_t shardBytes, uint64_t worldSize) {
  if (worldSize <= 1)
    return 0;
  constexpr uint64_t kLine = 256;
  const uint64_t each = kDeviceRoundBytes / (worldSize - 1) / kLine * kLine;
  return (worldSize - 1) * std::min(shardBytes, std::max(each, kCollectiveChunksInFlight * kCollectiveChunkBytes));
}

/// Whether a GPU's reduce_scatter is added by a kernel of ours, from the staging: NCCL's order is not the ranks', and its results have the
/// type that is sent. Otherwise it needs no staging.
inline bool addsInRankOrder(bool deterministic, bool changesElement) { return deterministic || changesElement; }

/// What a plan has to hold for a reduce_scatter that sends `shardBytes` to each rank. `isCuda`, `deterministic`: of the plan;
/// `changesElement`: the sum is kept in another type than is sent.
inline uint64_t plannedReduceScatterStagingBytes(uint64_t shardBytes, uint64_t worldSize, bool isCuda, bool deterministic, bool changesElement) {
  if (!isCuda)
    return reduceScatterStagingBytes(shardBytes, worldSize);
  return addsInRankOrder(deterministic, changesElement) ? deviceReduceScatterStagingBytes(shardBytes, worldSize) : 0;
}

/// Staging of a control_sum of `bytes`: the values of every peer. An all_gather needs none.
inline uint64_t controlSumStagingBytes(uint64_t bytes, uint64_t worldSize) { return (worldSize - 1) * bytes; }

} // namespace zero

#endif
