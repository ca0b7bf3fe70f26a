//===- TensorCore.cuh - Products of 16-bit floats by a warp ---------------===//
//
// One instruction each on the device (sm_80 and later). On the host the same exchange of registers by shuffles, and sums in float32 in
// the order of k: a device adds in an order of its own.
//
// Lane l stands for row l / 4 and the pair of columns l % 4 of what it holds.
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename T> struct IsBf16 {
  static constexpr bool kValue = false;
};
template <> struct IsBf16<bf16> {
  static constexpr bool kValue = true;
};

/// Two floats rounded to T, the first in the low half.
template <typename T> __device__ u32 packPair(float low, float high) {
#ifdef ZERO_HOST_EMULATION
  return u32(fromFloat<T>(low).bits) | u32(fromFloat<T>(high).bits) << 16;
#else
  u32 pair;
  if constexpr (IsBf16<T>::kValue)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}

/// sums (16 x 8) += left (16 x 16) right (16 x 8), of a warp. left: rows l/4 and l/4 + 8 of columns 2(l%4) on, then of columns 8 later;
/// right: rows 2(l%4) on, then 8 later, of column l/4; sums: columns 2(l%4) on of rows l/4 and l/4 + 8.
template <typename T> __device__ void multiplyPairs(float (&sums)[4], const u32 (&left)[4], const u32 (&right)[2]) {
#ifdef ZERO_HOST_EMULATION
  u32 lane = threadIdx.x % 32;
  auto put = [](float *to, u32 pair) {
    to[0] = toFloat(T{u16(pair)});
    to[1] = toFloat(T{u16(pair >> 16)});
  };
  float rows[2][16], columns[2][16];
  for (u32 j = 0; j < 4; ++j) {
    u64 first = __shfl_sync(0xffffffffu, u64(left[1]) << 32 | left[0], i32(lane / 4 * 4 + j));
    u64 second = __shfl_sync(0xffffffffu, u64(left[3]) << 32 | left[2], i32(lane / 4 * 4 + j));
    for (u32 i = 0; i < 2; ++i) {
      put(rows[i] + 2 * j, u32(first >> (32 * i)));
      put(rows[i] + 2 * j + 8, u32(second >> (32 * i)));
      u64 column = __shfl_sync(0xffffffffu, u64(right[1]) << 32 | right[0], i32((lane % 4 * 2 + i) * 4 + j));
      put(columns[i] + 2 * j, u32(column));
      put(columns[i] + 2 * j + 8, u32(column >> 32));
    }
  }
  for (u32 k = 0; k < 16; ++k)
    for (u32 i = 0; i < 4; ++i)
      sums[i] = fmaf(rows[i / 2][k], columns[i % 2][k], sums[i]);
#else
  // Volatile: the lanes of a warp are to be together here, wherever sums are needed afterwards.
  if constexpr (IsBf16<T>::kValue)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
#endif
}

/// The pair at (row, column) of a tile in shared memory; an even place.
template <i32 kStride, typename T> __device__ u32 pairAt(const T *tile, i32 row, i32 column) {
  return *reinterpret_cast<const u32 *>(tile + row * kStride + column);
}
/// The left operand of rows from `row` on and columns from `column` on.
template <i32 kStride, typename T> __device__ void readLeft(u32 (&left)[4], const T *tile, i32 row, i32 column) {
  i32 lane = i32(threadIdx.x % 32), r = row + lane / 4, c = column + lane % 4 * 2;
  left[0] = pairAt<kStride>(tile, r, c);
  left[1] = pairAt<kStride>(tile, r + 8, c);
  left[2] = pairAt<kStride>(tile, r, c + 8);
  left[3] = pairAt<kStride>(tile, r + 8, c + 8);
}
/// The right operand whose columns are rows of the tile.
template <i32 kStride, typename T> __device__ void readRightOfRows(u32 (&right)[2], const T *tile, i32 row, i32 column) {
  i32 lane = i32(threadIdx.x % 32);
  right[0] = pairAt<kStride>(tile, row + lane / 4, column + lane % 4 * 2);
  right[1] = pairAt<kStride>(tile, row + lane / 4, column + lane % 4 * 2 + 8);
}
/// Two right operands whose columns are columns of the tile: of columns from `column` on, and 8 later.
template <i32 kStride, typename T> __device__ void readRightOfColumns(u32 (&first)[2], u32 (&second)[2], const T *tile, i32 row, i32 column) {
  i32 lane = i32(threadIdx.x % 32);
#ifdef ZERO_HOST_EMULATION
  auto pair = [&](i32 r, i32 c) {
    const T *at = tile + (row + r + lane % 4 * 2) * kStride + column + c + lane / 4;
    return u32(at[0].bits) | u32(at[kStride].bits) << 16;
  };
  first[0] = pair(0, 0);
  first[1] = pair(8, 0);
  second[0] = pair(0, 8);
  second[1] = pair(8, 8);
#else
  const T *at = tile + (row + lane % 16) * kStride + column + lane / 16 * 8;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
               : "r"(u32(__cvta_generic_to_shared(at)))
               : "memory");
#endif
}

/// Starts copying a Unit of 16 or 4 bytes into shared memory, zeros where it is none. It is there behind waitForCopies and a barrier.
template <typename Unit> __device__ void startCopy(Unit *shared, const Unit *from, bool isThere) {
#ifdef ZERO_HOST_EMULATION
  *shared = isThere ? *from : Unit{};
#else
  u32 address = u32(__cvta_generic_to_shared(shared)), bytes = isThere ? u32(sizeof(Unit)) : 0u;
  if constexpr (sizeof(Unit) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
#endif
}
__device__ inline void waitForCopies() {
#ifndef ZERO_HOST_EMULATION
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Starts copying kRows rows from `row0` on, of kSize elements at a distance of kDistance, into a tile of rows of kStride; zeros behind
/// the end and between kSize and kPadded. Rows that are not all multiples of 16 bytes are copied on the spot.
template <i32 kThreads, i32 kRows, i32 kSize, i32 kPadded, i32 kStride, i64 kDistance, typename T>
__device__ void loadTile(T *tile, const T *rows, i32 row0, i32 end) {
  if constexpr (kSize % 8 == 0 && kDistance % 8 == 0) {
    if (reinterpret_cast<u64>(rows) % 16 == 0) {
      constexpr i32 kUnits = kPadded / 8;
#pragma unroll
      for (i32 i = i32(threadIdx.x); i < kRows * kUnits; i += kThreads) {
        i32 row = i / kUnits, column = i % kUnits * 8;
        bool isThere = row0 + row < end && column < kSize;
        startCopy(reinterpret_cast<uint4 *>(tile + row * kStride + column),
                  reinterpret_cast<const uint4 *>(rows + (isThere ? (row0 + row) * kDistance + column : 0)), isThere);
      }
      return;
    }
  }
#pragma unroll 4
  for (i32 i = i32(threadIdx.x); i < kRows * kPadded; i += kThreads) {
    i32 row = i / kPadded, column = i % kPadded;
    tile[row * kStride + column] = row0 + row < end && column < kSize ? rows[(row0 + row) * kDistance + column] : T{0};
  }
}

} // namespace zero
