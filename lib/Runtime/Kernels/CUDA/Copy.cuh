//===- Copy.cuh - fill and strided_copy -----------------------------------===//
//
// Sizes and strides are constants, so divisions become multiplications. Units of up to 16 bytes are moved where both sides allow it:
// the pointers decide at run time, all threads alike.
//
//===----------------------------------------------------------------------===//

namespace zero {

/// Whether `pointer` is a multiple of the unit's size.
template <typename Unit> __device__ bool isAligned(const void *pointer) {
  return reinterpret_cast<u64>(pointer) % sizeof(Unit) == 0;
}

template <typename T, u64 kCount> __device__ void fillElements(T *out, T value) {
  constexpr u64 kEach = 16 / sizeof(T);
  u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
  u64 head = (16 - reinterpret_cast<u64>(out) % 16) % 16 / sizeof(T);
  if (head > kCount)
    head = kCount;
  u64 units = (kCount - head) / kEach, tail = head + units * kEach;
  union {
    T elements[kEach];
    uint4 unit;
  } all;
#pragma unroll
  for (u64 i = 0; i < kEach; ++i)
    all.elements[i] = value;
  uint4 *body = reinterpret_cast<uint4 *>(out + head);
  for (u64 i = thread; i < units; i += threads)
    body[i] = all.unit;
  if (thread < head)
    out[thread] = value;
  if (thread < kCount - tail)
    out[tail + thread] = value;
}

/// One dimension of a copy: elements, and how far the next one lies on both sides.
template <i64 kElements, i64 kFrom, i64 kTo> struct Dimension {
  static constexpr i64 kSize = kElements, kSource = kFrom, kTarget = kTo;
};

/// Where item number `item` of the dimensions, innermost first, lies on both sides.
template <typename... Dimensions> struct Places {
  template <typename Index> static __device__ void find(Index, i64 &, i64 &) {}
};
template <typename First, typename... Rest> struct Places<First, Rest...> {
  template <typename Index> static __device__ void find(Index item, i64 &source, i64 &target) {
    Index at = sizeof...(Rest) ? item % Index(First::kSize) : item;
    source += i64(at) * First::kSource;
    target += i64(at) * First::kTarget;
    if constexpr (sizeof...(Rest) > 0)
      Places<Rest...>::find(Index(item / Index(First::kSize)), source, target);
  }
};

template <typename T, typename Index, u64 kItems, typename... Dimensions>
__device__ void copyItems(const T *source, T *target) {
  u64 threads = u64(gridDim.x) * blockDim.x;
  for (u64 item = u64(blockIdx.x) * blockDim.x + threadIdx.x; item < kItems; item += threads) {
    i64 from = 0, to = 0;
    Places<Dimensions...>::find(Index(item), from, to);
    target[to] = source[from];
  }
}

/// `value` at the target's place of each item.
template <typename T, typename Index, u64 kItems, typename... Dimensions> __device__ void fillItems(T *target, T value) {
  u64 threads = u64(gridDim.x) * blockDim.x;
  for (u64 item = u64(blockIdx.x) * blockDim.x + threadIdx.x; item < kItems; item += threads) {
    i64 from = 0, to = 0;
    Places<Dimensions...>::find(Index(item), from, to);
    target[to] = value;
  }
}

/// target[row * kTarget + column] = source[column * kSource + row] for each item of the outer dimensions, in tiles of 32 x 32 by
/// blocks of 32 x 8 threads.
template <typename T, u32 kRows, u32 kColumns, i64 kSource, i64 kTarget, typename... Outer>
__device__ void transposeTiles(const T *source, T *target) {
  __shared__ T tile[32][33];
  constexpr u32 kRowTiles = (kRows + 31) / 32, kColumnTiles = (kColumns + 31) / 32;
  u32 block = blockIdx.x, row = block % kRowTiles * 32, column = block / kRowTiles % kColumnTiles * 32;
  i64 from = 0, to = 0;
  Places<Outer...>::find(u32(block / (kRowTiles * kColumnTiles)), from, to);
  source += from;
  target += to;
#pragma unroll
  for (u32 i = 0; i < 32; i += 8) {
    u32 r = row + threadIdx.x, c = column + threadIdx.y + i;
    if (r < kRows && c < kColumns)
      tile[threadIdx.y + i][threadIdx.x] = source[i64(c) * kSource + r];
  }
  __syncthreads();
#pragma unroll
  for (u32 i = 0; i < 32; i += 8) {
    u32 r = row + threadIdx.y + i, c = column + threadIdx.x;
    if (r < kRows && c < kColumns)
      target[i64(r) * kTarget + c] = tile[threadIdx.x][threadIdx.y + i];
  }
}

} // namespace zero
