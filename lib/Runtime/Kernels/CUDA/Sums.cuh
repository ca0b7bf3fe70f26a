//===- Sums.cuh - sum_squares and norm: exact sums ------------------------===//
//
// The number and the cells of ExactSum.h, the same bits. Eight neighbouring threads take a cell; the first of them adds its sum to
// limbs of its own in shared memory, and limbs of blocks are added by integer atomics: integers, so in any order. An adder takes
// less than 2^29 cells before it carries: there are 32 in a block, and 2^40 elements are more than a device holds.
//
//===----------------------------------------------------------------------===//

namespace zero {

constexpr i32 kSumDigits = 20, kSumInfinite = 20, kSumNotANumber = 21, kSumUnit = -298, kSumUsed = 22, kSumLimbs = 24, kSumAdders = 32;

__device__ inline float toSquared(float value) { return value; }
__device__ inline float toSquared(double value) { return float(value); }
__device__ inline float toSquared(bf16 value) { return toFloat(value); }
__device__ inline float toSquared(f16 value) { return toFloat(value); }

/// Adds a cell's sum to the limbs of one adder, which lie kSumAdders apart.
__device__ inline void addToLimbs(i64 *limbs, double value) {
  u64 bits = __builtin_bit_cast(u64, value);
  i32 exponent = i32((bits >> 52) & 0x7ff);
  u64 mantissa = bits & ((u64(1) << 52) - 1);
  if (exponent == 0x7ff) {
    limbs[(mantissa ? kSumNotANumber : kSumInfinite) * kSumAdders] += 1;
    return;
  }
  if (exponent == 0) // zero: no multiple of 2^-298 is subnormal
    return;
  mantissa |= u64(1) << 52;
  i32 position = exponent - 1075 - kSumUnit;
  if (position < 0) { // the bits shifted out are zeros
    mantissa >>= -position;
    position = 0;
  }
  i32 limb = position >> 5, shift = position & 31;
  u64 low = (mantissa & 0xffffffff) << shift, high = (mantissa >> 32) << shift;
  i64 *first = limbs + limb * kSumAdders;
  first[0] += i64(low & 0xffffffff);
  first[kSumAdders] += i64((low >> 32) + (high & 0xffffffff));
  first[2 * kSumAdders] += i64(high >> 32);
}

template <i32 kStride> __device__ void carryLimbs(i64 *limbs) {
  i64 carry = 0;
  for (i32 i = 0; i + 1 < kSumDigits; ++i) {
    i64 limb = limbs[i * kStride] + carry;
    carry = limb >> 32;
    limbs[i * kStride] = limb & 0xffffffff;
  }
  limbs[(kSumDigits - 1) * kStride] += carry;
}

__device__ inline void startSums(i64 *limbs) {
  for (u32 i = threadIdx.x; i < u32(kSumUsed * kSumAdders); i += blockDim.x)
    limbs[i] = 0;
  __syncthreads();
}

template <typename T, u64 kCount> __device__ void addSquares(const T *values, i64 *limbs) {
  u32 lane = threadIdx.x % 8, adder = threadIdx.x / 8;
  constexpr u64 kCells = (kCount + 63) / 64, kWhole = kCount / 64;
  // All lanes of a warp make the same number of rounds, as they exchange sums.
  for (u64 first = u64(blockIdx.x) * kSumAdders; first < kCells; first += u64(gridDim.x) * kSumAdders) {
    u64 cell = first + adder;
    const T *at = values + cell * 64 + lane;
    double sum = 0;
    if (cell < kWhole) {
      float elements[8];
#pragma unroll
      for (u32 i = 0; i < 8; ++i)
        elements[i] = toSquared(at[8 * i]);
#pragma unroll
      for (u32 i = 0; i < 8; ++i)
        sum = fma(double(elements[i]), double(elements[i]), sum);
    } else if (cell < kCells) {
      for (u64 i = lane; i < kCount % 64; i += 8, at += 8) {
        double element = double(toSquared(*at));
        sum = fma(element, element, sum);
      }
    }
    sum += shuffleXor(0xffffffffu, sum, 4);
    sum += shuffleXor(0xffffffffu, sum, 2);
    sum += shuffleXor(0xffffffffu, sum, 1);
    if (lane == 0 && cell < kCells)
      addToLimbs(limbs + adder, sum);
  }
}

__device__ inline void finishSums(i64 *limbs, i64 *sum) {
  if (threadIdx.x % 8 == 0)
    carryLimbs<kSumAdders>(limbs + threadIdx.x / 8);
  __syncthreads();
  if (threadIdx.x < u32(kSumUsed)) {
    i64 total = 0;
    for (i32 adder = 0; adder < kSumAdders; ++adder)
      total += limbs[threadIdx.x * kSumAdders + adder];
    if (total != 0)
      atomicAdd(reinterpret_cast<unsigned long long *>(sum) + threadIdx.x, static_cast<unsigned long long>(total));
  }
}

/// Before and behind the blocks' work, by one thread each.
__device__ inline void clearSum(i64 *sum) {
  if (threadIdx.x < u32(kSumLimbs))
    sum[threadIdx.x] = 0;
}
__device__ inline void carrySum(i64 *sum) {
  if (threadIdx.x == 0)
    carryLimbs<1>(sum);
}

/// The square root of the sum, correctly rounded to float32 (nearest, ties to even), as exactSumSquareRoot.
__device__ inline float squareRootOfSum(const i64 *sum) {
  if (sum[kSumNotANumber] > 0)
    return __builtin_bit_cast(float, 0x7fc00000u);
  if (sum[kSumInfinite] > 0)
    return __builtin_bit_cast(float, 0x7f800000u);
  i64 limbs[kSumDigits];
  for (i32 i = 0; i < kSumDigits; ++i)
    limbs[i] = sum[i];
  carryLimbs<1>(limbs);
  if (limbs[kSumDigits - 1] >> 32 != 0) // no sum of squares reaches that far: these are other bytes
    return __builtin_bit_cast(float, 0x7fc00000u);
  i32 top = kSumDigits - 1;
  while (top >= 0 && limbs[top] == 0)
    --top;
  if (top < 0)
    return 0;
  // sum = m * 2^(e + kSumUnit) with m in [2^62, 2^64), e even, and bits below m that only say "more than m".
  i32 length = 32 * top;
  for (u64 rest = u64(limbs[top]); rest; rest >>= 1)
    ++length;
  i32 e = (length - 63) & ~1;
  auto bit = [&](i32 i) -> u64 { return i < 0 ? 0 : u64(limbs[i >> 5] >> (i & 31)) & 1; };
  u64 m = 0;
  for (i32 i = 63; i >= 0; --i)
    m = m << 1 | (i + e < length ? bit(i + e) : 0);
  bool more = false;
  for (i32 i = 0; i < e; ++i)
    more |= bit(i) != 0;
  constexpr u64 kLargest = 0xffffffff; // whose square fits, and no root is above it
  double estimate = sqrt(double(m));   // off by one at most
  u64 root = estimate < double(kLargest) ? u64(estimate) : kLargest;
  while (root * root > m)
    --root;
  while (root < kLargest && (root + 1) * (root + 1) <= m)
    ++root;
  more |= root * root != m;
  // root in [2^31, 2^32) counts 2^(e / 2 - 149): keep 24 bits, fewer where float32 is subnormal.
  i32 drop = -e / 2 > 8 ? -e / 2 : 8;
  u64 kept = root >> drop, rest = root & ((u64(1) << drop) - 1), half = u64(1) << (drop - 1);
  if (rest > half || (rest == half && (more || (kept & 1))))
    ++kept;
  return ldexpf(float(kept), drop + e / 2 + kSumUnit / 2);
}

} // namespace zero
