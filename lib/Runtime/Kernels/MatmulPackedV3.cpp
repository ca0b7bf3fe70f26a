//===- MatmulPackedV3.cpp - Loops of products of f32 matrices, x86-64-v3 (AVX2) ===//
//
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34(3), 2008): strips of the right side as wide
// as a tile stay in the first cache while strips of the left side as high as a tile come from the second; a tile of 6 x 16 sums stays in
// registers. Both sides are copied together first, so strides, however large, cost nothing further in.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/MatmulPacked.h"
#include "zero/Runtime/Kernels/MatmulSizes.h"
#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace zero::kernels {

namespace {

constexpr int64_t kTileRows = MatmulPlan::kTileRows, kTileColumns = MatmulPlan::kTileColumns, kVector = 8;

/// Sums `count` terms of each number of a tile, and adds that to `out`, or stores it if they are the first. (Sums of parts have a smaller error
/// than one long sum.)
template <bool isFirst> void addTerms(const float *lhs, const float *rhs, int64_t count, float *out, int64_t ld) {
  for (int64_t r = 0; r < kTileRows; ++r) { // a row may begin in one cache line and end in the next
    _mm_prefetch(reinterpret_cast<const char *>(out + r * ld), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char *>(out + r * ld + kTileColumns - 1), _MM_HINT_T0);
  }
  __m256 sums[kTileRows][2] = {};
  for (int64_t l = 0; l < count; ++l, lhs += kTileRows, rhs += kTileColumns) {
    __m256 right[2] = {_mm256_loadu_ps(rhs), _mm256_loadu_ps(rhs + kVector)};
    for (int64_t r = 0; r < kTileRows; ++r) {
      __m256 left = _mm256_broadcast_ss(lhs + r);
      sums[r][0] = _mm256_fmadd_ps(left, right[0], sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(left, right[1], sums[r][1]);
    }
  }
  for (int64_t r = 0; r < kTileRows; ++r)
    for (int64_t c = 0; c < 2; ++c) {
      float *place = out + r * ld + c * kVector;
      _mm256_storeu_ps(place, isFirst ? sums[r][c] : _mm256_add_ps(_mm256_loadu_ps(place), sums[r][c]));
    }
}

/// The same of a tile of which only `rows` times `columns` are there.
void addTermsAtEdge(bool isFirst, const float *lhs, const float *rhs, int64_t count, float *out, int64_t ld, int64_t rows, int64_t columns) {
  float tile[kTileRows * kTileColumns] = {};
  for (int64_t r = 0; r < rows && !isFirst; ++r)
    std::memcpy(tile + r * kTileColumns, out + r * ld, columns * sizeof(float));
  // First terms are stored, not added: they may be -0, which 0 + -0 is not.
  isFirst ? addTerms<true>(lhs, rhs, count, tile, kTileColumns) : addTerms<false>(lhs, rhs, count, tile, kTileColumns);
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(out + r * ld, tile + r * kTileColumns, columns * sizeof(float));
}

/// Eight numbers of each of `rows` rows (8 at most; the others are zero), by columns: number l of all rows at target + l * stride.
template <int64_t rows> void transpose(const float *source, int64_t ld, float *target, int64_t stride) {
  __m256 in[8], pairs[8], fours[8];
  for (int64_t r = 0; r < 8; ++r)
    in[r] = r < rows ? _mm256_loadu_ps(source + r * ld) : _mm256_setzero_ps();
  for (int64_t r = 0; r < 8; r += 2) {
    pairs[r] = _mm256_unpacklo_ps(in[r], in[r + 1]);
    pairs[r + 1] = _mm256_unpackhi_ps(in[r], in[r + 1]);
  }
  for (int64_t r = 0; r < 8; r += 4)
    for (int64_t half = 0; half < 2; ++half) {
      fours[r + 2 * half] = _mm256_shuffle_ps(pairs[r + half], pairs[r + half + 2], 0x44);
      fours[r + 2 * half + 1] = _mm256_shuffle_ps(pairs[r + half], pairs[r + half + 2], 0xee);
    }
  for (int64_t l = 0; l < 4; ++l) // in order: a store of eight covers the beginning of the next column of fewer
    _mm256_storeu_ps(target + l * stride, _mm256_permute2f128_ps(fours[l], fours[l + 4], 0x20));
  for (int64_t l = 0; l < 4; ++l)
    _mm256_storeu_ps(target + (l + 4) * stride, _mm256_permute2f128_ps(fours[l], fours[l + 4], 0x31));
}

/// Strips of `height` vectors that lie `ld` apart, term by term: number l of all of a strip, then number l + 1; zeros beyond the last vector.
template <int64_t height> void packAcross(const float *source, int64_t ld, int64_t vectors, int64_t count, float *target) {
  for (int64_t i = 0; i < vectors; i += height, source += height * ld, target += height * count) {
    int64_t there = std::min(height, vectors - i), l = 0;
    if (there == height)
      for (; l + 8 <= count; l += 8)
        for (int64_t r = 0; r < height; r += 8)
          transpose<std::min<int64_t>(height, 8)>(source + r * ld + l, ld, target + l * height + r, height);
    for (; l < count; ++l)
      for (int64_t r = 0; r < height; ++r)
        target[l * height + r] = r < there ? source[r * ld + l] : 0.0f;
  }
}

/// The same of vectors whose numbers lie `ld` apart, one vector beside the other. Some strips at once: what is read of a row are whole cache
/// lines, of which rows a power of two apart leave no second chance to read the rest.
template <int64_t height> void packAlong(const float *source, int64_t ld, int64_t vectors, int64_t count, float *target) {
  constexpr int64_t kAtOnce = 48 / height + 1;
  const int64_t strips = vectors / height;
  for (int64_t first = 0; first < strips; first += kAtOnce)
    for (int64_t l = 0; l < count; ++l)
      for (int64_t i = first; i < std::min(first + kAtOnce, strips); ++i)
        std::memcpy(target + (i * count + l) * height, source + l * ld + i * height, height * sizeof(float));
  if (int64_t there = vectors - strips * height)
    for (int64_t l = 0; l < count; ++l)
      for (int64_t r = 0; r < height; ++r)
        target[(strips * count + l) * height + r] = r < there ? source[l * ld + strips * height + r] : 0.0f;
}

} // namespace

void multiplyPackedV3(const MatmulShape &s, const float *lhs, const float *rhs, float *out, int64_t rows, int64_t columns, float *space) {
  constexpr int64_t kRows = MatmulPlan::kPackedRows, kColumns = MatmulPlan::kPackedColumns, kTerms = MatmulPlan::kPackedTerms;
  for (int64_t j0 = 0; j0 < columns; j0 += kColumns)
    for (int64_t l0 = 0; l0 < s.k; l0 += kTerms) {
      const int64_t width = std::min(kColumns, columns - j0), count = std::min(kTerms, s.k - l0);
      float *right = space, *left = space + (width + kTileColumns - 1) / kTileColumns * kTileColumns * count;
      if (s.transposeRhs)
        packAcross<kTileColumns>(rhs + j0 * s.rhsLd + l0, s.rhsLd, width, count, right);
      else
        packAlong<kTileColumns>(rhs + l0 * s.rhsLd + j0, s.rhsLd, width, count, right);
      for (int64_t i0 = 0; i0 < rows; i0 += kRows) {
        const int64_t height = std::min(kRows, rows - i0);
        if (s.transposeLhs)
          packAlong<kTileRows>(lhs + l0 * s.lhsLd + i0, s.lhsLd, height, count, left);
        else
          packAcross<kTileRows>(lhs + i0 * s.lhsLd + l0, s.lhsLd, height, count, left);
        for (int64_t j = 0; j < width; j += kTileColumns)
          for (int64_t i = 0; i < height; i += kTileRows) {
            const float *a = left + i * count, *b = right + j * count;
            float *tile = out + (i0 + i) * s.outLd + j0 + j;
            if (height - i < kTileRows || width - j < kTileColumns)
              addTermsAtEdge(l0 == 0, a, b, count, tile, s.outLd, std::min(kTileRows, height - i), std::min(kTileColumns, width - j));
            else if (l0 == 0)
              addTerms<true>(a, b, count, tile, s.outLd);
            else
              addTerms<false>(a, b, count, tile, s.outLd);
          }
      }
    }
}

} // namespace zero::kernels
