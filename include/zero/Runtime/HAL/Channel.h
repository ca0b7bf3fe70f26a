//===- Channel.h - Collectives of one queue -------------------------------===//
//
// All ranks call the same collectives of a channel in the same order. A collective is complete on a rank only when no peer
// will read or write its buffers again. Sums run in rank order (rank 0 + rank 1 + ...) in float32: every channel gives the
// same bits. Equivalent to: an NCCL communicator, an MPI communicator.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_CHANNEL_H
#define ZERO_RUNTIME_HAL_CHANNEL_H

#include "zero/Runtime/HAL/JobView.h"
#include <atomic>
#include <cstdint>

namespace zero {

/// Types of floats that are summed over ranks; numbered as ElementType of lib/Container/plan.fbs.
enum class FloatType : uint8_t { F32 = 0, F16 = 2, BF16 = 3 };

inline uint64_t sizeOf(FloatType type) { return type == FloatType::F32 ? 4 : 2; }

class Channel {
public:
  virtual ~Channel() = default;

  /// `target` holds all ranks' `bytes`, in rank order. In place: `source` is this rank's part of `target`.
  virtual Status allGather(const void *source, void *target, uint64_t bytes) = 0;

  /// `source` holds `elements` for each rank, in rank order; `target` is the sum of all ranks' contributions for this one.
  /// What is sent has type `element`; the sum is rounded once, to `targetElement`. In place (where both are the same):
  /// `target` is this rank's part of `source`. `staging` holds reduceScatterStagingBytes.
  virtual Status reduceScatter(const void *source, FloatType element, void *target, FloatType targetElement,
                               uint64_t elements, void *staging) = 0;
  Status reduceScatter(const float *source, float *target, uint64_t elements, void *staging) {
    return reduceScatter(source, FloatType::F32, target, FloatType::F32, elements, staging);
  }

  /// Sums small values on every rank; may be in place. `staging` holds controlSumStagingBytes.
  virtual Status sum(const float *source, float *target, uint64_t elements, void *staging) = 0;
  virtual Status sum(const int64_t *source, int64_t *target, uint64_t elements, void *staging) = 0;

  /// Bytes that this rank has sent so far, those that it left out included.
  virtual uint64_t bytesSent() const = 0;
  /// Bytes of zeros that were no part of its messages so far; any thread may ask.
  uint64_t bytesOmitted() const { return omitted.load(std::memory_order_relaxed); }

  /// The next collective, for messages and the flight recorder.
  void announce(const CollectiveCall &call) { announced = call; }

protected:
  CollectiveCall announced;
  std::atomic<uint64_t> omitted = 0;
};

} // namespace zero

#endif
