//===- TopK.cuh - The indices of the k best elements of each line ---------===//
//
// The order (value, then lower index) is total. Few: the best, then the best behind it, and so on, by one block for each line.
// Many: the rank of each element is the number of those before it. A line is (o, :, i) of outer x axis x inner.
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename T> __device__ T toOrdered(T value) { return value; }
__device__ inline float toOrdered(bf16 value) { return toFloat(value); }
__device__ inline float toOrdered(f16 value) { return toFloat(value); }

/// NaN counts as largest.
template <typename V> __device__ bool isLarger(V a, V b) { return a != a ? b == b : a > b; }

/// Whether element `i` of value `a` comes before element `j` of value `b`.
template <bool kSmallest, typename V> __device__ bool isBefore(V a, i64 i, V b, i64 j) {
  if (kSmallest ? isLarger(b, a) : isLarger(a, b))
    return true;
  if (kSmallest ? isLarger(a, b) : isLarger(b, a))
    return false;
  return i < j;
}

template <typename T, u64 kOuter, i64 kAxis, u64 kInner, i64 kTaken, bool kSmallest>
__device__ void takeBest(const T *in, i64 *out) {
  constexpr u32 kWarps = 8;
  using Value = decltype(toOrdered(T()));
  __shared__ Value warpValues[kWarps];
  __shared__ i64 warpIndices[kWarps];
  u64 line = blockIdx.x, outer = line / kInner, inner = line % kInner;
  const T *source = in + outer * u64(kAxis) * kInner + inner;
  Value last = Value();
  i64 lastIndex = -1; // none
#pragma unroll 1
  for (i64 rank = 0; rank < kTaken; ++rank) {
    Value best = Value();
    i64 bestIndex = -1;
    auto offer = [&](Value value, i64 index) {
      if (index >= 0 && (bestIndex < 0 || isBefore<kSmallest>(value, index, best, bestIndex))) {
        best = value;
        bestIndex = index;
      }
    };
    for (i64 i = threadIdx.x; i < kAxis; i += blockDim.x) {
      Value value = toOrdered(source[u64(i) * kInner]);
      if (lastIndex < 0 || isBefore<kSmallest>(last, lastIndex, value, i))
        offer(value, i);
    }
#pragma unroll
    for (u32 distance = 16; distance > 0; distance /= 2) {
      Value value = shuffleXor(0xffffffffu, best, distance);
      i64 index = shuffleXor(0xffffffffu, bestIndex, distance);
      offer(value, index);
    }
    if (threadIdx.x % 32 == 0) {
      warpValues[threadIdx.x / 32] = best;
      warpIndices[threadIdx.x / 32] = bestIndex;
    }
    __syncthreads();
    for (u32 w = 0; w < kWarps; ++w)
      offer(warpValues[w], warpIndices[w]);
    __syncthreads();
    last = best;
    lastIndex = bestIndex;
    if (threadIdx.x == 0)
      out[(outer * u64(kTaken) + u64(rank)) * kInner + inner] = bestIndex;
  }
}

template <typename T, u64 kOuter, i64 kAxis, u64 kInner, i64 kTaken, bool kSmallest>
__device__ void rankElements(const T *in, i64 *out) {
  constexpr u32 kThreads = 256;
  constexpr u64 kTiles = (u64(kAxis) + kThreads - 1) / kThreads;
  using Value = decltype(toOrdered(T()));
  __shared__ Value values[kThreads];
  u64 line = blockIdx.x / kTiles, outer = line / kInner, inner = line % kInner;
  const T *source = in + outer * u64(kAxis) * kInner + inner;
  i64 mine = i64(blockIdx.x % kTiles * kThreads + threadIdx.x), rank = 0;
  Value value = mine < kAxis ? toOrdered(source[u64(mine) * kInner]) : Value();
#pragma unroll 1
  for (i64 base = 0; base < kAxis; base += kThreads) {
    i64 i = base + threadIdx.x;
    values[threadIdx.x] = i < kAxis ? toOrdered(source[u64(i) * kInner]) : Value();
    __syncthreads();
    i64 count = kAxis - base < kThreads ? kAxis - base : kThreads;
#pragma unroll 8
    for (i64 j = 0; j < count; ++j)
      rank += isBefore<kSmallest>(values[j], base + j, value, mine);
    __syncthreads();
  }
  if (mine < kAxis && rank < kTaken)
    out[(outer * u64(kTaken) + u64(rank)) * kInner + inner] = mine;
}

} // namespace zero
