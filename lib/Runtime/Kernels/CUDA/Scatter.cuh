//===- Scatter.cuh - scatter and scatter_add ------------------------------===//
//
// A block owns a tile of rows and columns of the result, reads all indices, and combines the updates that fall on its rows in the
// order of the indices: no atomics (ScatterAtomic.cuh), no workspace, the bits of a loop. A thread owns a column of every kGroups-th row.
//
//===----------------------------------------------------------------------===//

namespace zero {

/// What elements are computed in: T, but float for floats of 16 bits.
template <typename T> struct Computed {
  using Type = T;
};
template <> struct Computed<bf16> {
  using Type = float;
};
template <> struct Computed<f16> {
  using Type = float;
};
template <typename T> __device__ typename Computed<T>::Type toComputed(T value) { return value; }
__device__ inline float toComputed(bf16 value) { return toFloat(value); }
__device__ inline float toComputed(f16 value) { return toFloat(value); }
template <typename T, typename Value> __device__ T fromComputed(Value value) {
  if constexpr (sizeof(typename Computed<T>::Type) != sizeof(T))
    return fromFloat<T>(value);
  else
    return T(value);
}

template <typename T> struct IsInteger {
  static constexpr bool kValue = T(1) / T(2) == T(0);
};

__device__ inline bool isNegative(float value) { return __builtin_bit_cast(u32, value) >> 31 != 0; }
__device__ inline bool isNegative(double value) { return __builtin_bit_cast(u64, value) >> 63 != 0; }

enum class Combine { Assign, Add, Multiply, Maximum, Minimum };

/// NaN if one is (`a` first), of zeros +0 for the maximum and -0 for the minimum; integers wrap around.
template <Combine kind, typename V> __device__ V combined(V a, V b) {
  if constexpr (kind == Combine::Assign) {
    return b;
  } else if constexpr (IsInteger<V>::kValue) {
    if constexpr (kind == Combine::Add)
      return wrappingAdd(a, b);
    else if constexpr (kind == Combine::Multiply)
      return wrappingMultiply(a, b);
    else
      return (kind == Combine::Maximum ? a > b : a < b) ? a : b;
  } else if constexpr (kind == Combine::Add) {
    return a + b;
  } else if constexpr (kind == Combine::Multiply) {
    return a * b;
  } else {
    if (a != a || b != b)
      return a != a ? a : b;
    if (a == b)
      return (kind == Combine::Maximum ? isNegative(b) : isNegative(a)) ? a : b;
    return (kind == Combine::Maximum ? a > b : a < b) ? a : b;
  }
}

/// `Sum`: what a column is kept in, T itself where each combination is rounded to it. From zero: the kernel scatter_add, which has no
/// `data`.
template <typename T, typename Sum, typename Index, Combine kind, bool kFromZero, u64 kOuter, i64 kAxis, u64 kInner, u64 kCount,
          u32 kRows, u32 kColumns>
__device__ void scatterTile(const T *data, const T *updates, const Index *indices, T *out, CudaStatus *status, u32 command) {
  constexpr u32 kThreads = 256, kWarps = kThreads / 32, kGroups = kThreads / kColumns, kAtOnce = 4;
  constexpr u64 kRowTiles = (u64(kAxis) + kRows - 1) / kRows, kColumnTiles = (kInner + kColumns - 1) / kColumns;
  __shared__ Sum sums[kRows * kColumns];
  __shared__ u32 matchedRow[kThreads], matchedUpdate[kThreads], counts[kWarps];
  u64 block = blockIdx.x, outer = block / (kRowTiles * kColumnTiles);
  i64 firstRow = i64(block / kColumnTiles % kRowTiles) * kRows;
  u32 column = threadIdx.x % kColumns, group = threadIdx.x / kColumns, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u64 at = block % kColumnTiles * kColumns + column;
  bool isMine = group < kGroups && at < kInner;
  if (isMine)
    for (u32 row = group; row < kRows && firstRow + row < kAxis; row += kGroups)
      if constexpr (!kFromZero)
        sums[row * kColumns + column] = data[(outer * u64(kAxis) + u64(firstRow) + row) * kInner + at];
      else
        sums[row * kColumns + column] = Sum();
  const T *source = updates + outer * kCount * kInner + at;
#pragma unroll 1
  for (u64 base = 0; base < kCount; base += kThreads) {
    u64 position = base + threadIdx.x;
    i64 index = position < kCount ? i64(indices[position]) : -1;
    if (block == 0 && position < kCount && (index < 0 || index >= kAxis))
      raiseStatus(status, kFromZero ? 2 : 3, command, i64(position), index, kAxis);
    bool matches = index >= firstRow && index < firstRow + kRows && index < kAxis;
    u32 matching = __ballot_sync(0xffffffffu, matches);
    if (lane == 0)
      counts[warp] = __popc(matching);
    __syncthreads();
    u32 before = 0, total = 0;
#pragma unroll
    for (u32 w = 0; w < kWarps; ++w) {
      before += w < warp ? counts[w] : 0;
      total += counts[w];
    }
    if (matches) {
      u32 slot = before + __popc(matching & ((1u << lane) - 1));
      matchedRow[slot] = u32(index - firstRow);
      matchedUpdate[slot] = threadIdx.x;
    }
    __syncthreads();
    for (u32 first = 0; isMine && first < total; first += kAtOnce) {
      T update[kAtOnce]; // loads that do not wait for each other
#pragma unroll
      for (u32 i = 0; i < kAtOnce; ++i)
        if (first + i < total && matchedRow[first + i] % kGroups == group)
          update[i] = source[(base + matchedUpdate[first + i]) * kInner];
#pragma unroll
      for (u32 i = 0; i < kAtOnce; ++i)
        if (first + i < total && matchedRow[first + i] % kGroups == group) {
          Sum &sum = sums[matchedRow[first + i] * kColumns + column];
          sum = fromComputed<Sum>(combined<kind>(toComputed(sum), toComputed(update[i])));
        }
    }
  }
  if (isMine)
    for (u32 row = group; row < kRows && firstRow + row < kAxis; row += kGroups)
      out[(outer * u64(kAxis) + u64(firstRow) + row) * kInner + at] = fromComputed<T>(toComputed(sums[row * kColumns + column]));
}

} // namespace zero
