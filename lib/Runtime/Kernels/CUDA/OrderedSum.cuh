//===- OrderedSum.cuh - Contributions of all ranks, added in rank order ---===//
//
// Stands behind the prelude of generated sources (toFloat, fromFloat). An element of the result depends on its contributions alone: it is
// the sum that sumInRankOrder gives on CPUs, in float32 and rounded once. Launched by collectives (OrderedSumKernel.h), not by commands.
//
//===----------------------------------------------------------------------===//

/// What a thread reads and writes at once.
template <typename T> struct alignas(4 * sizeof(T)) OrderedSumVector {
  T values[4];
};

/// `own` is the contribution of `rank`; those of the others lie in `staged`, by rank, `stride` elements apart. `target` may be `own`: an
/// element is read and written by the same thread.
template <typename From, typename To>
__device__ void addInRankOrder(To *target, const From *own, const From *staged, u64 stride, u64 elements, u32 rank, u32 ranks) {
  constexpr u64 kVector = 4;
  auto contributionOf = [&](u32 of) { return of == rank ? own : staged + (of < rank ? of : of - 1) * stride; };
  const bool aligned = (u64(target) % (kVector * sizeof(To)) | u64(own) % (kVector * sizeof(From)) | u64(staged) % (kVector * sizeof(From)) | stride % kVector) == 0;
  const u64 threads = u64(gridDim.x) * blockDim.x, thread = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  const u64 vectors = aligned ? elements / kVector : 0;
  for (u64 i = thread; i < vectors; i += threads) {
    float sums[kVector];
    for (u32 of = 0; of < ranks; ++of) {
      const auto numbers = reinterpret_cast<const OrderedSumVector<From> *>(contributionOf(of))[i];
      for (u32 j = 0; j < kVector; ++j)
        sums[j] = of ? sums[j] + toFloat(numbers.values[j]) : toFloat(numbers.values[j]);
    }
    OrderedSumVector<To> rounded;
    for (u32 j = 0; j < kVector; ++j)
      rounded.values[j] = fromFloat<To>(sums[j]);
    reinterpret_cast<OrderedSumVector<To> *>(target)[i] = rounded;
  }
  for (u64 i = vectors * kVector + thread; i < elements; i += threads) {
    float sum = toFloat(contributionOf(0)[i]);
    for (u32 of = 1; of < ranks; ++of)
      sum = sum + toFloat(contributionOf(of)[i]);
    target[i] = fromFloat<To>(sum);
  }
}

#define ZERO_ORDERED_SUM(SYMBOL, FROM, TO)                                                                                            \
  extern "C" __global__ void SYMBOL(TO *target, const FROM *own, const FROM *staged, u64 stride, u64 elements, u32 rank, u32 ranks) { \
    addInRankOrder<FROM, TO>(target, own, staged, stride, elements, rank, ranks);                                                     \
  }
