//===- WideRows.cpp - Rows of 16-bit floats to and from f32 ---------------===//
//
// Compiled for x86-64-v3. Vectors of eight; the rest of a row goes through a vector on the stack.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/WideRows.h"
#include <immintrin.h>

using namespace zero::kernels;

namespace {

inline __m256 widenBFloat16(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

/// Integer arithmetic: the instruction of AVX512_BF16 loses subnormal numbers.
inline __m128i roundToBFloat16(__m256 value) {
  __m256i bits = _mm256_castps_si256(value);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256i isNaN = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, isNaN), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
}

template <__m256 widen(__m128i)> inline void widenRow(const uint16_t *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, widen(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
  if (i == count)
    return;
  alignas(32) uint16_t rest[8] = {};
  alignas(32) float wide[8];
  for (int64_t j = i; j < count; ++j)
    rest[j - i] = from[j];
  _mm256_store_ps(wide, widen(_mm_load_si128(reinterpret_cast<const __m128i *>(rest))));
  for (int64_t j = i; j < count; ++j)
    to[j] = wide[j - i];
}

template <__m128i round(__m256)> inline void roundRow(const float *from, int64_t count, uint16_t *to) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i), round(_mm256_loadu_ps(from + i)));
  if (i == count)
    return;
  alignas(32) float rest[8] = {};
  alignas(32) uint16_t narrow[8];
  for (int64_t j = i; j < count; ++j)
    rest[j - i] = from[j];
  _mm_store_si128(reinterpret_cast<__m128i *>(narrow), round(_mm256_load_ps(rest)));
  for (int64_t j = i; j < count; ++j)
    to[j] = narrow[j - i];
}

inline __m256 widenFloat16(__m128i bits) { return _mm256_cvtph_ps(bits); }
inline __m128i roundToFloat16(__m256 value) { return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT); }

} // namespace

void zero::kernels::widenBFloat16s(const uint16_t *from, int64_t count, float *to) {
  widenRow<widenBFloat16>(from, count, to);
}
void zero::kernels::widenFloat16s(const uint16_t *from, int64_t count, float *to) {
  widenRow<widenFloat16>(from, count, to);
}
void zero::kernels::roundToBFloat16s(const float *from, int64_t count, uint16_t *to) {
  roundRow<roundToBFloat16>(from, count, to);
}
void zero::kernels::roundToFloat16s(const float *from, int64_t count, uint16_t *to) {
  roundRow<roundToFloat16>(from, count, to);
}
