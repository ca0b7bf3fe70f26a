//===- ExactSum.h - Sums of squares whose order does not matter -----------===//
//
// The gradient norm has to be the same for every layout of the gradients over ranks and buckets. So gradients
// are cut into cells of 64 consecutive elements (of one parameter: parameters start at multiples of 64, and
// padding holds zeros); each cell's sum of squares is taken in float64 in one fixed order, and the cells'
// sums are added in a fixed-point integer, exactly. Integer addition has no order: limbs may be added over
// cells, buckets and ranks in any way.
//
// The number: limb i (i < 20) counts 2^(32 i - 298). A float32 squared is a multiple of 2^-298, a cell's sum
// is at most 2^262, and the 640 bits reach 2^342. Limbs are int64 and one addend brings less than 2^33 to a
// limb: `exactSumAdd` at most 2^29 times between calls of `exactSumCarry`; of carried sums (limbs below 2^32)
// 2^30 may be added limb by limb. Limbs 20 and 21 count cells that are infinite and NaN. Standard library
// only: the reference interpreter uses it as well.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_EXACTSUM_H
#define ZERO_RUNTIME_KERNELS_EXACTSUM_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace zero {

inline constexpr int64_t kExactSumLimbs = 24;
inline constexpr int64_t kExactSumCell = 64;
/// Most calls of `exactSumAdd` between two of `exactSumCarry`.
inline constexpr int64_t kExactSumAddsPerCarry = int64_t{1} << 29;

namespace exact_sum_detail {
inline constexpr int kDigits = 20;     // limbs that hold the number
inline constexpr int kInfinite = 20;   // limb that counts infinite addends
inline constexpr int kNotANumber = 21; // limb that counts NaN addends
inline constexpr int kUnit = -298;     // limb 0 counts 2^kUnit
} // namespace exact_sum_detail

/// Sum of squares of `count` (at most 64) floats in float64: lane l takes elements l, l + 8, ..., then lanes
/// are added as a tree. Squares of float32 are exact in float64, so fused or not the bits are the same.
/// Elements missing at the end count as zeros.
inline double cellSumOfSquares(const float *values, int64_t count) {
  double lanes[8] = {};
  if (count == kExactSumCell) {
    for (int i = 0; i < 8; ++i)
      for (int lane = 0; lane < 8; ++lane)
        lanes[lane] += static_cast<double>(values[8 * i + lane]) * values[8 * i + lane];
  } else {
    for (int64_t i = 0; i < count; ++i)
      lanes[i % 8] += static_cast<double>(values[i]) * values[i];
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// Adds `value`, a sum of squares of float32 (so a multiple of 2^-298, below 2^270, or infinite, or NaN), to
/// `limbs`.
inline void exactSumAdd(int64_t *limbs, double value) {
  using namespace exact_sum_detail;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  if (exponent == 0x7ff) {
    ++limbs[std::isnan(value) ? kNotANumber : kInfinite];
    return;
  }
  if (exponent == 0) // zero: no multiple of 2^-298 is subnormal
    return;
  uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  int position = exponent - 1075 - kUnit; // value = mantissa * 2^(position + kUnit)
  if (position < 0) {                     // the bits shifted out are zeros
    mantissa >>= -position;
    position = 0;
  }
  int limb = position >> 5, shift = position & 31;
  uint64_t low = (mantissa & 0xffffffff) << shift, high = (mantissa >> 32) << shift; // 64 and at most 52 bits
  limbs[limb] += static_cast<int64_t>(low & 0xffffffff);
  limbs[limb + 1] += static_cast<int64_t>((low >> 32) + (high & 0xffffffff));
  limbs[limb + 2] += static_cast<int64_t>(high >> 32);
}

/// Brings every limb of the number below 2^32 without changing the number.
inline void exactSumCarry(int64_t *limbs) {
  using namespace exact_sum_detail;
  for (int i = 0; i + 1 < kDigits; ++i) {
    limbs[i + 1] += limbs[i] >> 32;
    limbs[i] &= 0xffffffff;
  }
}

/// The square root of the sum, correctly rounded to float32 (nearest, ties to even).
inline float exactSumSquareRoot(const int64_t *sum) {
  using namespace exact_sum_detail;
  if (sum[kNotANumber] > 0)
    return std::numeric_limits<float>::quiet_NaN();
  if (sum[kInfinite] > 0)
    return std::numeric_limits<float>::infinity();
  int64_t limbs[kDigits];
  for (int i = 0; i < kDigits; ++i)
    limbs[i] = sum[i];
  exactSumCarry(limbs);
  if (limbs[kDigits - 1] >> 32 != 0) // no sum of squares reaches that far: these are other bytes
    return std::numeric_limits<float>::quiet_NaN();
  int top = kDigits - 1;
  while (top >= 0 && limbs[top] == 0)
    --top;
  if (top < 0)
    return 0;
  // sum = m * 2^(e + kUnit) with m in [2^62, 2^64), e even, and bits below m that only say "more than m".
  int length = 32 * top + (64 - std::countl_zero(static_cast<uint64_t>(limbs[top])));
  int e = (length - 63) & ~1;
  auto bit = [&](int i) -> uint64_t { return i < 0 ? 0 : (limbs[i >> 5] >> (i & 31)) & 1; };
  uint64_t m = 0;
  for (int i = 63; i >= 0; --i)
    m = m << 1 | (i + e < length ? bit(i + e) : 0);
  bool more = false;
  for (int i = 0; i < e; ++i)
    more |= bit(i) != 0;
  uint64_t root = static_cast<uint64_t>(std::sqrt(static_cast<double>(m))); // off by one at most
  while (static_cast<unsigned __int128>(root) * root > m)
    --root;
  while (static_cast<unsigned __int128>(root + 1) * (root + 1) <= m)
    ++root;
  more |= root * root != m;
  // root in [2^31, 2^32) counts 2^(e / 2 - 149): keep 24 bits, fewer where float32 is subnormal.
  int drop = -e / 2 > 8 ? -e / 2 : 8;
  uint64_t kept = root >> drop, rest = root & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
  if (rest > half || (rest == half && (more || (kept & 1))))
    ++kept;
  return std::ldexp(static_cast<float>(kept), drop + e / 2 + kUnit / 2);
}

} // namespace zero

#endif
