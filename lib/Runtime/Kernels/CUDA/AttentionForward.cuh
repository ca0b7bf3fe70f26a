//===- AttentionForward.cuh - attention -----------------------------------===//
//
// A block of 128 threads for 64 query rows and up to 128 columns of the result: threads in 8 rows of 16, each with 8 rows by 4
// columns of scores. Scores are computed again for each chunk of 128 columns.
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename T, typename Shape>
__device__ void attentionForward(const T *query, const T *key, const T *value, const T *mask, T *out, float *logSumExp) {
  constexpr i32 kThreads = 128, kRows = 8, kDepth = 16, kSize = i32(Shape::kSize), kColumns = kSize <= 64 ? 64 : 128,
                kWide = kColumns / 64, kChunks = (kSize + kColumns - 1) / kColumns,
                kTiles = i32((Shape::kQueries + kScoreTile - 1) / kScoreTile);
  __shared__ alignas(16) float queries[kDepth][kScoreTile + 4], keys[kDepth][kScoreTile + 4], probabilities[kScoreTile][kScoreTile + 4];
  __shared__ alignas(16) float values[kDepth * kColumns];
  u32 block = blockIdx.x, item = block / (kTiles * kChunks);
  // Later tiles see more keys: they come first.
  i32 tile = kTiles - 1 - i32(block / kChunks % kTiles), column0 = i32(block % kChunks) * kColumns;
  i64 batch = item / Shape::kHeads, head = item % Shape::kHeads, group = head / (Shape::kHeads / Shape::kGroups);
  query += batch * Shape::kQueryBatch + head * Shape::kQueryHead;
  key += batch * Shape::kKeyBatch + group * Shape::kKeyHead;
  value += batch * Shape::kValueBatch + group * Shape::kValueHead;
  const T *added = maskOf<Shape>(mask, batch, head);
  i32 x = i32(threadIdx.x) % 16, y = i32(threadIdx.x) / 16, row0 = tile * kScoreTile, end = keysSeen<Shape>(row0 + kScoreTile - 1);
  float sums[kRows][4 * kWide], maximum[kRows], total[kRows], largestMask[kRows];
#pragma unroll
  for (i32 i = 0; i < kRows; ++i) {
    maximum[i] = largestMask[i] = -infinity();
    total[i] = 0.0f;
#pragma unroll
    for (i32 j = 0; j < 4 * kWide; ++j)
      sums[i][j] = 0.0f;
  }
#pragma unroll 1
  for (i32 key0 = 0; key0 < end; key0 += kScoreTile) {
    float scores[kRows][4];
#pragma unroll
    for (i32 i = 0; i < kRows; ++i)
#pragma unroll
      for (i32 j = 0; j < 4; ++j)
        scores[i][j] = 0.0f;
#pragma unroll 1
    for (i32 d0 = 0; d0 < kSize; d0 += kDepth) {
      __syncthreads();
      loadTransposed<kThreads, kDepth, kSize>(queries, query, Shape::kQueryPosition, row0, i32(Shape::kQueries), d0, Shape::kScale);
      loadTransposed<kThreads, kDepth, kSize>(keys, key, Shape::kKeyPosition, key0, i32(Shape::kKeys), d0, 1.0f);
      __syncthreads();
#pragma unroll
      for (i32 d = 0; d < kDepth; ++d) {
        float a[kRows], b[4];
        readFour(a, &queries[d][kRows * y]);
        readFour(a + 4, &queries[d][kRows * y + 4]);
        readFour(b, &keys[d][4 * x]);
#pragma unroll
        for (i32 i = 0; i < kRows; ++i)
#pragma unroll
          for (i32 j = 0; j < 4; ++j)
            scores[i][j] = fmaf(a[i], b[j], scores[i][j]);
      }
    }
#pragma unroll
    for (i32 i = 0; i < kRows; ++i) {
      i32 t = row0 + kRows * y + i;
      float most = maximum[i];
#pragma unroll
      for (i32 j = 0; j < 4; ++j) {
        i32 s = key0 + 4 * x + j;
        bool isSeen = sees<Shape>(t, s);
        if (Shape::kMask && isSeen) {
          float number = toFloat(added[t * i64(Shape::kKeys) + s]);
          scores[i][j] += number;
          largestMask[i] = fmaxf(largestMask[i], number);
        }
        scores[i][j] = isSeen ? scores[i][j] : -infinity();
        most = fmaxf(most, scores[i][j]);
      }
#pragma unroll
      for (i32 distance = 8; distance > 0; distance /= 2)
        most = fmaxf(most, shuffleXor(0xffffffffu, most, distance));
      float base = most == -infinity() ? 0.0f : most, factor = expf(maximum[i] - base);
      maximum[i] = most;
      total[i] *= factor;
#pragma unroll
      for (i32 j = 0; j < 4; ++j) {
        scores[i][j] = expf(scores[i][j] - base);
        total[i] += scores[i][j];
      }
#pragma unroll
      for (i32 j = 0; j < 4 * kWide; ++j)
        sums[i][j] *= factor;
    }
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
#pragma unroll
      for (i32 i = 0; i < kRows; i += 4)
        writeFour(&probabilities[4 * x + j][kRows * y + i], scores[i][j], scores[i + 1][j], scores[i + 2][j], scores[i + 3][j]);
#pragma unroll 1
    for (i32 s0 = 0; s0 < kScoreTile && key0 + s0 < end; s0 += kDepth) {
      __syncthreads();
      loadRows<kThreads, kDepth, kColumns, kSize>(values, value, Shape::kValuePosition, key0 + s0, i32(Shape::kKeys), column0);
      __syncthreads();
#pragma unroll
      for (i32 s = 0; s < kDepth; ++s) {
        float a[kRows], b[4 * kWide];
        readFour(a, &probabilities[s0 + s][kRows * y]);
        readFour(a + 4, &probabilities[s0 + s][kRows * y + 4]);
#pragma unroll
        for (i32 w = 0; w < kWide; ++w)
          readFour(b + 4 * w, &values[s * kColumns + 64 * w + 4 * x]);
#pragma unroll
        for (i32 i = 0; i < kRows; ++i)
#pragma unroll
          for (i32 j = 0; j < 4 * kWide; ++j)
            sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (i32 i = 0; i < kRows; ++i) {
    i32 t = row0 + kRows * y + i;
#pragma unroll
    for (i32 distance = 8; distance > 0; distance /= 2) {
      total[i] += shuffleXor(0xffffffffu, total[i], distance);
      largestMask[i] = fmaxf(largestMask[i], shuffleXor(0xffffffffu, largestMask[i], distance));
    }
    if (t >= i32(Shape::kQueries))
      continue;
    float factor = 1.0f / total[i];
    T *row = out + batch * Shape::kOutBatch + t * i64(Shape::kOutPosition) + head * Shape::kOutHead;
#pragma unroll
    for (i32 j = 0; j < 4 * kWide; ++j)
      if (i32 column = column0 + j / 4 * 64 + 4 * x + j % 4; column < kSize)
        row[column] = fromFloat<T>(sums[i][j] * factor);
    if (x == 0 && column0 == 0)
      logSumExp[item * i64(Shape::kQueries) + t] =
          float(double(maximum[i] - (Shape::kMask ? finiteOrZero(largestMask[i]) : 0.0f)) + log(double(total[i])));
  }
}

} // namespace zero
