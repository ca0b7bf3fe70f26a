//===- CumSum.cuh - Running sums along an axis ----------------------------===//
//
// Floats are added in double and each sum is rounded once; integers wrap around. Short or many columns: a thread each, in order.
// Long and few ones: a block each, 256 elements at a time, warps' sums in order.
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename T> __device__ double toSummed(T value) { return double(value); }
__device__ inline double toSummed(bf16 value) { return double(toFloat(value)); }
__device__ inline double toSummed(f16 value) { return double(toFloat(value)); }
template <typename T, typename Sum> __device__ Sum readSummed(T value) {
  if constexpr (sizeof(Sum) == 8 && Sum(1) / Sum(2) == Sum(0))
    return Sum(i64(value)); // as a two's complement number
  else
    return toSummed(value);
}
template <typename T, typename Sum> __device__ T roundSummed(Sum sum) { return T(sum); }
template <> __device__ inline bf16 roundSummed<bf16, double>(double sum) { return fromFloat<bf16>(narrowToOdd(sum)); }
template <> __device__ inline f16 roundSummed<f16, double>(double sum) { return fromFloat<f16>(narrowToOdd(sum)); }

template <typename T, typename Sum, u64 kOuter, u64 kAxis, u64 kInner, bool kExclusive, bool kReverse>
__device__ void sumColumns(const T *in, T *out) {
  u64 column = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= kOuter * kInner)
    return;
  u64 first = column / kInner * kAxis * kInner + column % kInner;
  Sum sum = 0;
#pragma unroll 4
  for (u64 step = 0; step < kAxis; ++step) {
    u64 at = first + (kReverse ? kAxis - 1 - step : step) * kInner;
    Sum before = sum;
    sum += readSummed<T, Sum>(in[at]);
    out[at] = roundSummed<T, Sum>(kExclusive ? before : sum);
  }
}

template <typename T, typename Sum, u64 kOuter, u64 kAxis, u64 kInner, bool kExclusive, bool kReverse>
__device__ void scanColumn(const T *in, T *out) {
  constexpr u32 kThreads = 256, kWarps = kThreads / 32;
  __shared__ Sum warpSums[kWarps];
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u64 first = u64(blockIdx.x) / kInner * kAxis * kInner + blockIdx.x % kInner;
  Sum carry = 0;
#pragma unroll 1
  for (u64 base = 0; base < kAxis; base += kThreads) {
    u64 step = base + threadIdx.x, at = first + (kReverse ? kAxis - 1 - step : step) * kInner;
    Sum sum = step < kAxis ? readSummed<T, Sum>(in[at]) : Sum(0);
#pragma unroll
    for (u32 distance = 1; distance < 32; distance *= 2) {
      Sum below = __shfl_up_sync(0xffffffffu, sum, distance);
      if (lane >= distance)
        sum += below;
    }
    if (lane == 31)
      warpSums[warp] = sum;
    __syncthreads();
    Sum before = carry;
#pragma unroll
    for (u32 w = 0; w < kWarps; ++w) {
      before = w < warp ? before + warpSums[w] : before;
      carry += warpSums[w];
    }
    __syncthreads();
    Sum previous = __shfl_up_sync(0xffffffffu, sum, 1);
    if (kExclusive)
      sum = lane ? previous : Sum(0);
    if (step < kAxis)
      out[at] = roundSummed<T, Sum>(before + sum);
  }
}

} // namespace zero
