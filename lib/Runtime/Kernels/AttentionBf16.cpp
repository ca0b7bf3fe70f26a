//===- AttentionBf16.cpp - Attention of bf16 by AVX512_BF16 ---------------===//
//
// The loops of AttentionLoops.inc with products of bf16: the left side of a product lies in pairs of neighbours in k, the right
// side in pairs of rows, and one instruction adds both products of a pair to a float32 (subnormal numbers count as zeros). A
// pair moves as the 32 bits of a float. Probabilities and the gradients of scores are rounded to bf16 for their products;
// softmax, its sums and all results are float32 until they are complete. Scales are applied to them.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/AttentionVectorV4.h"
#include "lib/Runtime/Kernels/AttentionRows.inc"

namespace {

/// c + both products of each pair.
struct Pairs {
  static Vector add(Vector a, Vector b, Vector c) {
    return {_mm512_dpbf16_ps(c.v, reinterpret_cast<__m512bh>(a.v), reinterpret_cast<__m512bh>(b.v))};
  }
};

/// Sixteen numbers rounded, in the low halves of 32 bits.
inline __m512i rounded(const float *from) {
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(from))));
}

/// Rows of bf16 at a stride into dense rows of `width`, with zeros at the end.
void copyRows(const BFloat16Bits *source, int64_t stride, int64_t rows, int64_t headSize, int64_t width, float *target) {
  for (int64_t i = 0; i < rows; ++i, source += stride, target += width / 2) {
    if (i + kFetchAhead < rows)
      fetchRow(source + kFetchAhead * stride, headSize);
    memcpy(target, source, headSize * sizeof(BFloat16Bits));
    memset(reinterpret_cast<char *>(target) + headSize * sizeof(BFloat16Bits), 0, (width - headSize) * sizeof(BFloat16Bits));
  }
}

/// Dense rows of `width` in pairs: target[i / 2 * width + d] holds rows i and i + 1; a missing last one is zeros.
void pairRows(const float *rowsOf, int64_t rows, int64_t width, float *target) {
  for (int64_t i = 0; i < rows; i += 2, target += width)
    for (int64_t d = 0; d < width; d += Vector::kLanes) {
      auto row = [&](int64_t r) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(rowsOf + (r * width + d) / 2)));
      };
      __m512i high = i + 1 < rows ? _mm512_slli_epi32(row(i + 1), 16) : _mm512_setzero_si512();
      _mm512_storeu_si512(target + d, _mm512_or_epi32(row(i), high));
    }
}

inline void storeRounded(Vector value, float *target) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(target), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value.v)));
}

/// A row of `columns` floats as bf16.
void roundRow(const float *row, int64_t columns, float *target) {
  for (int64_t c = 0; c < columns; c += Vector::kLanes)
    storeRounded(Vector::load(row + c), target + c / 2);
}

/// Rows of scores (at a distance of kAttentionBlock) as bf16 in pairs of rows; a missing last one is zeros.
void roundPairs(const float *scores, int64_t rows, int64_t columns, float *target) {
  for (int64_t i = 0; i < rows; i += 2)
    for (int64_t c = 0; c < columns; c += Vector::kLanes) {
      const float *at = scores + i * kAttentionBlock + c;
      __m512i high = i + 1 < rows ? _mm512_slli_epi32(rounded(at + kAttentionBlock), 16) : _mm512_setzero_si512();
      _mm512_storeu_si512(target + i / 2 * kAttentionBlock + c, _mm512_or_epi32(rounded(at), high));
    }
}

void scaleRow(float *row, int64_t columns, float scale) {
  for (int64_t c = 0; c < columns; c += Vector::kLanes)
    (Vector::load(row + c) * Vector::all(scale)).store(row + c);
}

void forwardItem(const AttentionArguments &x, int64_t b, int64_t h, float *workspace) {
  using T = BFloat16Bits;
  int64_t width = roundUpToLine(x.headSize), group = h / (x.heads / x.groups), half = width / 2;
  int64_t most = smaller(kAttentionRows, roundUpToLine(x.queries));
  float *queries = workspace, *sums = queries + most * width, *keys = sums + most * width;
  float *rowsOf = keys + kAttentionBlock * half; // of keys, then of values
  float *values = keys + kAttentionBlock * width, *probabilities = values + kAttentionBlock * half;
  float *scores = values + kAttentionBlock * width;
  float *maximum = scores + kAttentionTileRows * kAttentionBlock, *total = maximum + most;
  Scores<T> visibility(x, b, h);
  for (int64_t t0 = 0; t0 < x.queries; t0 += kAttentionRows) {
    int64_t rows = smaller(kAttentionRows, x.queries - t0);
    copyRows(x.query.at<T>(b, t0, h), x.query.position, rows, x.headSize, width, queries);
    memset(sums, 0, rows * width * sizeof(float));
    for (int64_t i = 0; i < rows; ++i)
      maximum[i] = -kInfinity, total[i] = 0;
    for (int64_t s0 = 0; s0 < x.keys; s0 += kAttentionBlock) {
      int64_t first = larger(0, visibility.firstRow(s0) - t0);
      if (first >= rows)
        break; // nor does any row here see later keys
      int64_t count = smaller(kAttentionBlock, x.keys - s0);
      copyRows(x.key.at<T>(b, s0, group), x.key.position, count, x.headSize, width, rowsOf);
      packTransposed(rowsOf, half, count, half, keys);
      copyRows(x.value.at<T>(b, s0, group), x.value.position, count, x.headSize, width, rowsOf);
      pairRows(rowsOf, count, width, values);
      for (int64_t i = first; i < rows; i += kTileRows) {
        int64_t m = smaller(kTileRows, rows - i), seen = visibility.visible(t0 + i + m - 1, s0, count);
        int64_t columns = roundUpToLine(seen);
        product<Pairs>(m, columns, half, {queries + i * half, half, 1}, keys, kAttentionBlock, scores, kAttentionBlock, false);
        for (int64_t r = 0; r < m; ++r) {
          float *row = scores + r * kAttentionBlock;
          scaleRow(row, columns, x.scale);
          visibility.addMask(row, t0 + i + r, s0, seen);
        }
        float factors[kTileRows];
        softmaxRows(
            scores, m, columns, [&](int64_t r) { return visibility.visible(t0 + i + r, s0, seen); }, maximum + i, total + i, factors,
            [&](int64_t r, int64_t c, Vector p) { storeRounded(p, probabilities + (r * kAttentionBlock + c) / 2); });
        scaleRows(sums + i * width, m, width, factors);
        product<Pairs>(m, width, (seen + 1) / 2, {probabilities, kAttentionBlock / 2, 1}, values, width, sums + i * width, width,
                       true);
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      unpackRows(sums + i * width, width, 1, x.headSize, 1 / total[i], x.out.at<T>(b, t0 + i, h), 0);
      x.logSumExp[(b * x.heads + h) * x.queries + t0 + i] =
          static_cast<float>((maximum[i] - visibility.largestMask(t0 + i)) + log(static_cast<double>(total[i])));
    }
  }
}

/// Pairs in one block of scores: two such blocks fit where float32 has a block of keys, one where it has a tile.
constexpr int64_t kPairsOfScores = kTileRows * kAttentionBlock / 2;
static_assert(2 * kPairsOfScores <= kAttentionBlock * roundUpToLine(1) && kPairsOfScores <= kAttentionTileRows * roundUpToLine(1));

/// One query head's part of the gradients. `first`, `last`: it is so in its group, so sums of key and value gradients begin and
/// are complete.
void backwardHead(const AttentionArguments &x, int64_t b, int64_t h, int64_t group, bool first, bool last, float *workspace) {
  using T = BFloat16Bits;
  int64_t width = roundUpToLine(x.headSize), half = width / 2, block = kAttentionBlock * width, tile = kAttentionTileRows * width;
  // The parts that attentionGradPartFloats counts, of which pairs need half.
  float *queries = workspace, *queryPairs = queries + tile / 2;
  float *outGradients = workspace + tile, *outGradientPairs = outGradients + tile / 2;
  float *keyPairs = workspace + 2 * tile, *rowsOf = keyPairs + block / 2;
  float *keysTransposed = keyPairs + block, *valuesTransposed = keysTransposed + block / 2;
  float *probabilityPairs = keysTransposed + block, *scoreGradientPairs = probabilityPairs + kPairsOfScores;
  float *keyGradients = probabilityPairs + block, *valueGradients = keyGradients + block;
  float *scoreGradientRows = valueGradients + block;
  float *probabilities = scoreGradientRows + tile, *scoreGradients = probabilities + kAttentionTileRows * kAttentionBlock;
  float *delta = scoreGradients + kAttentionTileRows * kAttentionBlock;
  float *largest = delta + roundUpToLine(x.queries); // with a mask
  float *querySums = largest + (x.mask ? roundUpToLine(x.queries) : 0);
  float *keySums = querySums + x.queries * width, *valueSums = keySums + x.keys * width; // of several heads
  const float *logSumExp = x.logSumExp + (b * x.heads + h) * x.queries;
  Scores<T> visibility(x, b, h);
  rowProducts<T>(x, b, h, delta);
  memset(querySums, 0, x.queries * width * sizeof(float));
  for (int64_t t = 0; x.mask && t < x.queries; ++t)
    largest[t] = visibility.largestMask(t);
  for (int64_t s0 = 0; s0 < x.keys; s0 += kAttentionBlock) {
    int64_t count = smaller(kAttentionBlock, x.keys - s0);
    copyRows(x.value.at<T>(b, s0, group), x.value.position, count, x.headSize, width, rowsOf);
    packTransposed(rowsOf, half, count, half, valuesTransposed);
    copyRows(x.key.at<T>(b, s0, group), x.key.position, count, x.headSize, width, rowsOf);
    packTransposed(rowsOf, half, count, half, keysTransposed);
    pairRows(rowsOf, count, width, keyPairs);
    memset(keyGradients, 0, block * sizeof(float));
    memset(valueGradients, 0, block * sizeof(float));
    for (int64_t t0 = visibility.firstRow(s0); t0 < x.queries; t0 += kTileRows) {
      int64_t rows = smaller(kTileRows, x.queries - t0), seen = visibility.visible(t0 + rows - 1, s0, count);
      int64_t columns = roundUpToLine(seen), pairs = (rows + 1) / 2;
      copyRows(x.query.at<T>(b, t0, h), x.query.position, rows, x.headSize, width, queries);
      pairRows(queries, rows, width, queryPairs);
      copyRows(x.outGradient.at<T>(b, t0, h), x.outGradient.position, rows, x.headSize, width, outGradients);
      pairRows(outGradients, rows, width, outGradientPairs);
      product<Pairs>(rows, columns, half, {queries, half, 1}, keysTransposed, kAttentionBlock, probabilities, kAttentionBlock,
                     false);
      product<Pairs>(rows, columns, half, {outGradients, half, 1}, valuesTransposed, kAttentionBlock, scoreGradients,
                     kAttentionBlock, false);
      for (int64_t r = 0; r < rows; ++r) {
        float *row = probabilities + r * kAttentionBlock, *gradient = scoreGradients + r * kAttentionBlock;
        scaleRow(row, columns, x.scale);
        visibility.addMask(row, t0 + r, s0, seen);
        backwardRow(row, gradient, visibility.visible(t0 + r, s0, seen), columns, x.mask ? largest[t0 + r] : 0,
                    logSumExp[t0 + r], delta[t0 + r]);
        roundRow(gradient, columns, scoreGradientRows + r * kAttentionBlock / 2);
      }
      roundPairs(probabilities, rows, columns, probabilityPairs);
      roundPairs(scoreGradients, rows, columns, scoreGradientPairs);
      product<Pairs>(seen, width, pairs, {probabilityPairs, 1, kAttentionBlock}, outGradientPairs, width, valueGradients, width,
                     true);
      product<Pairs>(seen, width, pairs, {scoreGradientPairs, 1, kAttentionBlock}, queryPairs, width, keyGradients, width, true);
      product<Pairs>(rows, width, (seen + 1) / 2, {scoreGradientRows, kAttentionBlock / 2, 1}, keyPairs, width,
                     querySums + t0 * width, width, true);
    }
    const struct {
      float *sum, *sums, scale;
      const HeadView *view;
    } gradients[] = {{keyGradients, keySums, x.scale, &x.keyGradient}, {valueGradients, valueSums, 1, &x.valueGradient}};
    for (auto [sum, sums, scale, view] : gradients) {
      if (!first || !last) {
        float *all = sums + s0 * width;
        addRows(sum, width, count, width, all, width, !first);
        sum = all;
      }
      if (last)
        unpackRows(sum, width, count, x.headSize, scale, view->at<T>(b, s0, group), view->position);
    }
  }
  unpackRows(querySums, width, x.queries, x.headSize, x.scale, x.queryGradient.at<T>(b, 0, h), x.queryGradient.position);
}

void forwardItems(const AttentionArguments &x, int64_t begin, int64_t end, float *workspace) {
  for (int64_t item = begin; item < end; ++item)
    forwardItem(x, item / x.heads, item % x.heads, workspace);
}

void backwardItems(const AttentionArguments &x, int64_t begin, int64_t end, float *workspace) {
  int64_t each = x.groups ? x.heads / x.groups : 0;
  for (int64_t item = begin; item < end; ++item) {
    int64_t b = item / x.groups, group = item % x.groups;
    for (int64_t i = 0; i < each; ++i)
      backwardHead(x, b, group * each + i, group, i == 0, i + 1 == each, workspace);
  }
}

} // namespace

const zero::kernels::AttentionRanges zero::kernels::attentionBf16 = {{nullptr, nullptr, forwardItems},
                                                                     {nullptr, nullptr, backwardItems}};
