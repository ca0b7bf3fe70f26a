//===- AttentionV3.cpp - Attention for x86-64-v3 (AVX2, FMA) --------------===//
#include "lib/Runtime/Kernels/AttentionTypes.h"
#include <immintrin.h>

namespace {

/// Eight floats.
struct Vector {
  static constexpr int64_t kLanes = 8, kTileRows = 6, kTileVectors = 2, kRowsAtATime = 24;
  __m256 v;

  static Vector load(const float *p) { return {_mm256_loadu_ps(p)}; }
  static Vector load(const zero::kernels::Float16Bits *p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)))};
  }
  static Vector load(const zero::kernels::BFloat16Bits *p) {
    __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
  }
  static Vector all(float x) { return {_mm256_set1_ps(x)}; }
  void store(float *p) const { _mm256_storeu_ps(p, v); }
  void store(zero::kernels::Float16Bits *p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  /// As NarrowFloats.h rounds.
  void store(zero::kernels::BFloat16Bits *p) const {
    __m256i bits = _mm256_castps_si256(v), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    __m256i isNaN = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), isNaN);
    __m256i high = _mm256_srli_epi32(rounded, 16);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(p),
                     _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
  }
  Vector operator+(Vector b) const { return {_mm256_add_ps(v, b.v)}; }
  Vector operator-(Vector b) const { return {_mm256_sub_ps(v, b.v)}; }
  Vector operator*(Vector b) const { return {_mm256_mul_ps(v, b.v)}; }
  /// a * b + c and c - a * b, rounded once.
  static Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  static Vector fnma(Vector a, Vector b, Vector c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
  /// The larger; `b` where one is NaN.
  static Vector max(Vector a, Vector b) { return {_mm256_max_ps(a.v, b.v)}; }
  Vector rounded() const { return {_mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  /// This times 2^n for whole n in [-126, 127].
  Vector scaled(Vector n) const {
    __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127)), 23);
    return {_mm256_mul_ps(v, _mm256_castsi256_ps(bits))};
  }
  /// This, but 0 where a < b.
  Vector zeroWhereLess(Vector a, Vector b) const {
    return {_mm256_andnot_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ), v)};
  }
  /// The first `count` lanes of this, `other` in the rest.
  Vector firstLanes(int64_t count, Vector other) const {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int32_t n = count < 0 ? 0 : count > 8 ? 8 : static_cast<int32_t>(count);
    return {
        _mm256_blendv_ps(other.v, v, _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane)))};
  }
  float sum() const {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  float largest() const {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }
};

} // namespace

#define ZERO_ATTENTION attentionV3
#include "lib/Runtime/Kernels/AttentionLoops.inc"
