//===- SumCells.cpp - Sums of squares of whole cells ----------------------===//
//
// Compiled for x86-64-v3.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/SumCells.h"
#include <immintrin.h>

namespace {

/// Four neighbours as doubles.
inline __m256d load(const float *values) { return _mm256_cvtps_pd(_mm_loadu_ps(values)); }
inline __m128i loadBits(const uint16_t *values) { return _mm_loadl_epi64(reinterpret_cast<const __m128i *>(values)); }
inline __m256d loadBFloat16(const uint16_t *values) {
  return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(loadBits(values)), 16)));
}
inline __m256d loadFloat16(const uint16_t *values) { return _mm256_cvtps_pd(_mm_cvtph_ps(loadBits(values))); }

/// Lane l of eight takes elements l, l + 8, ...; then lanes are added as a tree.
template <typename T, __m256d load(const T *)> void sum(const T *values, int64_t cells, double *sums) {
  for (int64_t cell = 0; cell < cells; ++cell, values += 64) {
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    for (int i = 0; i < 64; i += 8) {
      __m256d a = load(values + i), b = load(values + i + 4);
      low = _mm256_fmadd_pd(a, a, low); // squares of floats are exact: fused or not, the same bits
      high = _mm256_fmadd_pd(b, b, high);
    }
    __m256d lanes = _mm256_add_pd(low, high);
    __m128d pairs = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd(lanes, 1));
    sums[cell] = _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)));
  }
}

} // namespace

void zero::kernels::sumCellsOfFloats(const float *values, int64_t cells, double *sums) { sum<float, load>(values, cells, sums); }
void zero::kernels::sumCellsOfFloat16s(const uint16_t *values, int64_t cells, double *sums) {
  sum<uint16_t, loadFloat16>(values, cells, sums);
}
void zero::kernels::sumCellsOfBFloat16s(const uint16_t *values, int64_t cells, double *sums) {
  sum<uint16_t, loadBFloat16>(values, cells, sums);
}
