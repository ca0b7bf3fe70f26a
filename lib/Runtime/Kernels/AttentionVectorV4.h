//===- AttentionVectorV4.h - The vector of AVX-512 that attention uses ----===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ATTENTIONVECTORV4_H
#define ZERO_LIB_RUNTIME_KERNELS_ATTENTIONVECTORV4_H

#include "lib/Runtime/Kernels/AttentionTypes.h"
#include <immintrin.h>

namespace {

/// Sixteen floats.
struct Vector {
  static constexpr int64_t kLanes = 16, kTileRows = 8, kTileVectors = 2, kRowsAtATime = 16;
  __m512 v;

  static Vector load(const float *p) { return {_mm512_loadu_ps(p)}; }
  static Vector load(const zero::kernels::Float16Bits *p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)))};
  }
  static Vector load(const zero::kernels::BFloat16Bits *p) {
    __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
  }
  static Vector all(float x) { return {_mm512_set1_ps(x)}; }
  void store(float *p) const { _mm512_storeu_ps(p, v); }
  void store(zero::kernels::Float16Bits *p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  /// As NarrowFloats.h rounds: the instruction of AVX512_BF16 loses subnormal numbers.
  void store(zero::kernels::BFloat16Bits *p) const {
    __m512i bits = _mm512_castps_si512(v), odd = _mm512_and_epi32(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    __mmask16 isNaN = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, isNaN, bits, _mm512_set1_epi32(0x400000));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  Vector operator+(Vector b) const { return {_mm512_add_ps(v, b.v)}; }
  Vector operator-(Vector b) const { return {_mm512_sub_ps(v, b.v)}; }
  Vector operator*(Vector b) const { return {_mm512_mul_ps(v, b.v)}; }
  /// a * b + c and c - a * b, rounded once.
  static Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static Vector fnma(Vector a, Vector b, Vector c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
  /// The larger; `b` where one is NaN.
  static Vector max(Vector a, Vector b) { return {_mm512_max_ps(a.v, b.v)}; }
  Vector rounded() const { return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  /// This times 2^n for whole n.
  Vector scaled(Vector n) const { return {_mm512_scalef_ps(v, n.v)}; }
  /// This, but 0 where a < b.
  Vector zeroWhereLess(Vector a, Vector b) const {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_NLT_UQ), v)};
  }
  /// The first `count` lanes of this, `other` in the rest.
  Vector firstLanes(int64_t count, Vector other) const {
    __mmask16 mask = count <= 0 ? 0 : count >= 16 ? 0xffff : static_cast<__mmask16>((1u << count) - 1);
    return {_mm512_mask_mov_ps(other.v, mask, v)};
  }
  float sum() const { return _mm512_reduce_add_ps(v); }
  float largest() const { return _mm512_reduce_max_ps(v); }
};

} // namespace

#endif
