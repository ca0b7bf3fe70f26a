//===- AttentionTensor.cuh - Attention of 16-bit floats on tensor cores ---===//
//
// As AttentionForward.cuh and AttentionBackward.cuh, for heads of up to 128: blocks of four warps, each with 16 rows of a tile of
// scores in registers. Scores and sums are float32; probabilities, and gradients of scores, are rounded to 16 bits for the products that
// they enter (as CPUs that multiply bf16 do).
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename Shape> struct TensorSizes {
  static constexpr i32 kThreads = 128, kSize = i32(Shape::kSize), kPadded = (kSize + 15) / 16 * 16;
  static constexpr i32 kStride = kPadded + 8; ///< so that eight rows lie in different banks
  static constexpr i32 kSteps = kPadded / 16;
};

__device__ inline float exponential(float x) { return exp2f(x * 1.44269504f); }

/// A warp's 16 rows of sums into memory, those from `row0` on below `end`, times a factor for each of a thread's two rows.
template <i32 kPadded, i32 kSize, typename T>
__device__ void storeRows(const float (&sums)[kPadded / 8][4], T *rows, i64 stride, i32 row0, i32 end, float scaleFirst, float scaleSecond) {
  i32 lane = i32(threadIdx.x % 32);
#pragma unroll
  for (i32 n = 0; n < kPadded / 8; ++n)
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
      i32 row = row0 + lane / 4 + i / 2 * 8, column = 8 * n + lane % 4 * 2 + i % 2;
      if (row < end && column < kSize)
        rows[row * stride + column] = fromFloat<T>(sums[n][i] * (i < 2 ? scaleFirst : scaleSecond));
    }
}

template <typename T, typename Shape>
__device__ void attentionForwardTensor(const T *query, const T *key, const T *value, const T *mask, T *out, float *logSumExp) {
  using Sizes = TensorSizes<Shape>;
  constexpr i32 kThreads = Sizes::kThreads, kSize = Sizes::kSize, kPadded = Sizes::kPadded, kStride = Sizes::kStride, kSteps = Sizes::kSteps,
                kTiles = i32((Shape::kQueries + kScoreTile - 1) / kScoreTile), kKeyTiles = kScoreTile / 8;
  __shared__ uint4 keyWords[kScoreTile * kStride / 8], valueWords[kScoreTile * kStride / 8];
  T *keys = reinterpret_cast<T *>(keyWords), *values = reinterpret_cast<T *>(valueWords);
  u32 item = blockIdx.x / kTiles;
  i32 row0 = (kTiles - 1 - i32(blockIdx.x % kTiles)) * kScoreTile; // later tiles see more keys: they come first
  i64 batch = item / Shape::kHeads, head = item % Shape::kHeads, group = head / (Shape::kHeads / Shape::kGroups);
  query += batch * Shape::kQueryBatch + head * Shape::kQueryHead;
  key += batch * Shape::kKeyBatch + group * Shape::kKeyHead;
  value += batch * Shape::kValueBatch + group * Shape::kValueHead;
  const T *added = maskOf<Shape>(mask, batch, head);
  i32 lane = i32(threadIdx.x % 32), warp = i32(threadIdx.x / 32), end = keysSeen<Shape>(row0 + kScoreTile - 1);
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kQueryPosition>(keys, query, row0, i32(Shape::kQueries));
  __syncthreads();
  u32 queries[kSteps][4];
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step)
    readLeft<kStride>(queries[step], keys, 16 * warp, 16 * step);
  float sums[kPadded / 8][4], maximum[2], total[2], largestMask[2];
#pragma unroll
  for (i32 n = 0; n < kPadded / 8; ++n)
#pragma unroll
    for (i32 i = 0; i < 4; ++i)
      sums[n][i] = 0.0f;
#pragma unroll
  for (i32 r = 0; r < 2; ++r) {
    maximum[r] = largestMask[r] = -infinity();
    total[r] = 0.0f;
  }
#pragma unroll 1
  for (i32 key0 = 0; key0 < end; key0 += kScoreTile) {
    __syncthreads();
    loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kKeyPosition>(keys, key, key0, i32(Shape::kKeys));
    loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kValuePosition>(values, value, key0, i32(Shape::kKeys));
    __syncthreads();
    float scores[kKeyTiles][4];
#pragma unroll
    for (i32 n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
        scores[n][i] = 0.0f;
#pragma unroll
      for (i32 step = 0; step < kSteps; ++step) {
        u32 right[2];
        readRightOfRows<kStride>(right, keys, 8 * n, 16 * step);
        multiplyPairs<T>(scores[n], queries[step], right);
      }
    }
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      i32 t = row0 + 16 * warp + lane / 4 + 8 * r;
      float most = maximum[r];
#pragma unroll
      for (i32 n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (i32 c = 0; c < 2; ++c) {
          i32 s = key0 + 8 * n + lane % 4 * 2 + c;
          bool isSeen = sees<Shape>(t, s);
          float score = scores[n][2 * r + c] * Shape::kScale;
          if (Shape::kMask && isSeen) {
            float number = toFloat(added[t * i64(Shape::kKeys) + s]);
            score += number;
            largestMask[r] = fmaxf(largestMask[r], number);
          }
          scores[n][2 * r + c] = isSeen ? score : -infinity();
          most = fmaxf(most, scores[n][2 * r + c]);
        }
      most = fmaxf(most, shuffleXor(0xffffffffu, most, 1));
      most = fmaxf(most, shuffleXor(0xffffffffu, most, 2));
      float base = most == -infinity() ? 0.0f : most, factor = exponential(maximum[r] - base);
      maximum[r] = most;
      total[r] *= factor;
#pragma unroll
      for (i32 n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (i32 c = 0; c < 2; ++c) {
          scores[n][2 * r + c] = exponential(scores[n][2 * r + c] - base);
          total[r] += scores[n][2 * r + c];
        }
#pragma unroll
      for (i32 n = 0; n < kPadded / 8; ++n) {
        sums[n][2 * r] *= factor;
        sums[n][2 * r + 1] *= factor;
      }
    }
#pragma unroll
    for (i32 j = 0; j < kScoreTile / 16; ++j) {
      u32 left[4];
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
        left[i] = packPair<T>(scores[2 * j + i / 2][i % 2 * 2], scores[2 * j + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (i32 n = 0; n < kPadded / 16; ++n) {
        u32 first[2], second[2];
        readRightOfColumns<kStride>(first, second, values, 16 * j, 16 * n);
        multiplyPairs<T>(sums[2 * n], left, first);
        multiplyPairs<T>(sums[2 * n + 1], left, second);
      }
    }
  }
  float factors[2];
#pragma unroll
  for (i32 r = 0; r < 2; ++r) {
#pragma unroll
    for (i32 distance = 1; distance < 4; distance *= 2) {
      total[r] += shuffleXor(0xffffffffu, total[r], distance);
      largestMask[r] = fmaxf(largestMask[r], shuffleXor(0xffffffffu, largestMask[r], distance));
    }
    factors[r] = 1.0f / total[r];
    i32 t = row0 + 16 * warp + lane / 4 + 8 * r;
    if (lane % 4 == 0 && t < i32(Shape::kQueries))
      logSumExp[item * i64(Shape::kQueries) + t] =
          float(double(maximum[r] - (Shape::kMask ? finiteOrZero(largestMask[r]) : 0.0f)) + log(double(total[r])));
  }
  storeRows<kPadded, kSize>(sums, out + batch * Shape::kOutBatch + head * Shape::kOutHead, i64(Shape::kOutPosition), row0 + 16 * warp,
                            i32(Shape::kQueries), factors[0], factors[1]);
}

/// The probability of row t and key s, and the gradient of their score in place of that of the probability.
template <typename T, typename Shape>
__device__ float probabilityOf(i32 t, i32 s, float product, const T *mask, float largest, float logSumExp, float delta, float &gradient) {
  bool isSeen = sees<Shape>(t, s);
  float score = product * Shape::kScale;
  if (Shape::kMask && isSeen)
    score += toFloat(mask[t * i64(Shape::kKeys) + s]);
  float probability = isSeen ? exponential((score - largest) - logSumExp) : 0.0f;
  gradient = probability * (gradient - delta);
  return probability;
}

/// A block for 64 keys; a warp has scores of its 16 keys by rows of kRowTile queries.
template <typename T, typename Shape>
__device__ void attentionKeyGradientsTensor(const T *query, const T *key, const T *value, const T *mask, const float *logSumExp,
                                            const T *outGradient, T *keyGradient, T *valueGradient, const float *workspace) {
  using Sizes = TensorSizes<Shape>;
  constexpr i32 kThreads = Sizes::kThreads, kSize = Sizes::kSize, kPadded = Sizes::kPadded, kStride = Sizes::kStride, kSteps = Sizes::kSteps,
                kTiles = i32((Shape::kKeys + kScoreTile - 1) / kScoreTile), kEach = i32(Shape::kHeads / Shape::kGroups),
                kRowTile = kPadded <= 64 ? 32 : 16;
  __shared__ uint4 keyWords[kScoreTile * kStride / 8], valueWords[kScoreTile * kStride / 8], queryWords[kRowTile * kStride / 8],
      outWords[kRowTile * kStride / 8];
  __shared__ float rowNumbers[3][kRowTile]; // log-sum-exp, product of result and gradient, largest number of the mask
  T *keys = reinterpret_cast<T *>(keyWords), *values = reinterpret_cast<T *>(valueWords), *queries = reinterpret_cast<T *>(queryWords),
    *outs = reinterpret_cast<T *>(outWords);
  i32 key0 = i32(blockIdx.x % kTiles) * kScoreTile, lane = i32(threadIdx.x % 32), warp = i32(threadIdx.x / 32);
  i64 item = blockIdx.x / kTiles, batch = item / Shape::kGroups, group = item % Shape::kGroups;
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kKeyPosition>(keys, key + batch * Shape::kKeyBatch + group * Shape::kKeyHead, key0,
                                                                              i32(Shape::kKeys));
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kValuePosition>(
      values, value + batch * Shape::kValueBatch + group * Shape::kValueHead, key0, i32(Shape::kKeys));
  i32 firstRow = Shape::kCausal ? key0 - i32(Shape::kKeys - Shape::kQueries) : 0;
  float keySums[kPadded / 8][4], valueSums[kPadded / 8][4];
#pragma unroll
  for (i32 n = 0; n < kPadded / 8; ++n)
#pragma unroll
    for (i32 i = 0; i < 4; ++i)
      keySums[n][i] = valueSums[n][i] = 0.0f;
#pragma unroll 1
  for (i32 each = 0; each < kEach; ++each) {
    HeadRows<T> head =
        headRows<T, Shape>(batch, group * kEach + each, query, key, value, mask, outGradient, logSumExp, workspace);
#pragma unroll 1
    for (i32 row0 = firstRow > 0 ? firstRow / kRowTile * kRowTile : 0; row0 < i32(Shape::kQueries); row0 += kRowTile) {
      __syncthreads();
      loadTile<kThreads, kRowTile, kSize, kPadded, kStride, Shape::kQueryPosition>(queries, head.query, row0, i32(Shape::kQueries));
      loadTile<kThreads, kRowTile, kSize, kPadded, kStride, Shape::kOutGradientPosition>(outs, head.outGradient, row0, i32(Shape::kQueries));
      if (i32 row = i32(threadIdx.x); row < kRowTile) {
        bool isRow = row0 + row < i32(Shape::kQueries);
        rowNumbers[0][row] = isRow ? head.logSumExp[row0 + row] : 0.0f;
        rowNumbers[1][row] = isRow ? head.delta[row0 + row] : 0.0f;
        rowNumbers[2][row] = Shape::kMask && isRow ? head.largestMask[row0 + row] : 0.0f;
      }
      __syncthreads();
      float scores[kRowTile / 8][4], gradients[kRowTile / 8][4];
#pragma unroll
      for (i32 n = 0; n < kRowTile / 8; ++n)
#pragma unroll
        for (i32 i = 0; i < 4; ++i)
          scores[n][i] = gradients[n][i] = 0.0f;
#pragma unroll
      for (i32 step = 0; step < kSteps; ++step) {
        u32 keyRows[4], valueRows[4];
        readLeft<kStride>(keyRows, keys, 16 * warp, 16 * step);
        readLeft<kStride>(valueRows, values, 16 * warp, 16 * step);
#pragma unroll
        for (i32 n = 0; n < kRowTile / 8; ++n) {
          u32 right[2];
          readRightOfRows<kStride>(right, queries, 8 * n, 16 * step);
          multiplyPairs<T>(scores[n], keyRows, right);
          readRightOfRows<kStride>(right, outs, 8 * n, 16 * step);
          multiplyPairs<T>(gradients[n], valueRows, right);
        }
      }
#pragma unroll
      for (i32 n = 0; n < kRowTile / 8; ++n)
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          i32 row = 8 * n + lane % 4 * 2 + i % 2, s = key0 + 16 * warp + lane / 4 + i / 2 * 8;
          scores[n][i] = probabilityOf<T, Shape>(row0 + row, s, scores[n][i], head.mask, rowNumbers[2][row], rowNumbers[0][row],
                                                 rowNumbers[1][row], gradients[n][i]);
        }
#pragma unroll
      for (i32 j = 0; j < kRowTile / 16; ++j) {
        u32 probabilities[4], scoreGradients[4];
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          probabilities[i] = packPair<T>(scores[2 * j + i / 2][i % 2 * 2], scores[2 * j + i / 2][i % 2 * 2 + 1]);
          scoreGradients[i] = packPair<T>(gradients[2 * j + i / 2][i % 2 * 2], gradients[2 * j + i / 2][i % 2 * 2 + 1]);
        }
#pragma unroll
        for (i32 n = 0; n < kPadded / 16; ++n) {
          u32 first[2], second[2];
          readRightOfColumns<kStride>(first, second, outs, 16 * j, 16 * n);
          multiplyPairs<T>(valueSums[2 * n], probabilities, first);
          multiplyPairs<T>(valueSums[2 * n + 1], probabilities, second);
          readRightOfColumns<kStride>(first, second, queries, 16 * j, 16 * n);
          multiplyPairs<T>(keySums[2 * n], scoreGradients, first);
          multiplyPairs<T>(keySums[2 * n + 1], scoreGradients, second);
        }
      }
    }
  }
  storeRows<kPadded, kSize>(keySums, keyGradient + batch * Shape::kKeyGradientBatch + group * Shape::kKeyGradientHead,
                            i64(Shape::kKeyGradientPosition), key0 + 16 * warp, i32(Shape::kKeys), Shape::kScale, Shape::kScale);
  storeRows<kPadded, kSize>(valueSums, valueGradient + batch * Shape::kValueGradientBatch + group * Shape::kValueGradientHead,
                            i64(Shape::kValueGradientPosition), key0 + 16 * warp, i32(Shape::kKeys), 1.0f, 1.0f);
}

/// A block for 64 queries; a warp has scores of its 16 rows by 32 keys.
template <typename T, typename Shape>
__device__ void attentionQueryGradientTensor(const T *query, const T *key, const T *value, const T *mask, const float *logSumExp,
                                             const T *outGradient, T *queryGradient, const float *workspace) {
  using Sizes = TensorSizes<Shape>;
  constexpr i32 kThreads = Sizes::kThreads, kSize = Sizes::kSize, kPadded = Sizes::kPadded, kStride = Sizes::kStride, kSteps = Sizes::kSteps,
                kTiles = i32((Shape::kQueries + kScoreTile - 1) / kScoreTile), kKeyTile = 32;
  __shared__ uint4 words[kScoreTile * kStride / 8];
  T *rows = reinterpret_cast<T *>(words), *keys = rows, *values = rows + kKeyTile * kStride;
  i32 row0 = (kTiles - 1 - i32(blockIdx.x % kTiles)) * kScoreTile, lane = i32(threadIdx.x % 32), warp = i32(threadIdx.x / 32);
  i64 item = blockIdx.x / kTiles, batch = item / Shape::kHeads, number = item % Shape::kHeads;
  HeadRows<T> head = headRows<T, Shape>(batch, number, query, key, value, mask, outGradient, logSumExp, workspace);
  i32 end = keysSeen<Shape>(row0 + kScoreTile - 1);
  u32 queries[kSteps][4], outs[kSteps][4];
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kQueryPosition>(rows, head.query, row0, i32(Shape::kQueries));
  __syncthreads();
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step)
    readLeft<kStride>(queries[step], rows, 16 * warp, 16 * step);
  __syncthreads();
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kOutGradientPosition>(rows, head.outGradient, row0, i32(Shape::kQueries));
  __syncthreads();
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step)
    readLeft<kStride>(outs[step], rows, 16 * warp, 16 * step);
  float sums[kPadded / 8][4], logSums[2], deltas[2], largest[2];
#pragma unroll
  for (i32 n = 0; n < kPadded / 8; ++n)
#pragma unroll
    for (i32 i = 0; i < 4; ++i)
      sums[n][i] = 0.0f;
#pragma unroll
  for (i32 r = 0; r < 2; ++r) {
    i32 t = row0 + 16 * warp + lane / 4 + 8 * r;
    bool isRow = t < i32(Shape::kQueries);
    logSums[r] = isRow ? head.logSumExp[t] : 0.0f;
    deltas[r] = isRow ? head.delta[t] : 0.0f;
    largest[r] = Shape::kMask && isRow ? head.largestMask[t] : 0.0f;
  }
#pragma unroll 1
  for (i32 key0 = 0; key0 < end; key0 += kKeyTile) {
    __syncthreads();
    loadTile<kThreads, kKeyTile, kSize, kPadded, kStride, Shape::kKeyPosition>(keys, head.key, key0, i32(Shape::kKeys));
    loadTile<kThreads, kKeyTile, kSize, kPadded, kStride, Shape::kValuePosition>(values, head.value, key0, i32(Shape::kKeys));
    __syncthreads();
    float scores[kKeyTile / 8][4], gradients[kKeyTile / 8][4];
#pragma unroll
    for (i32 n = 0; n < kKeyTile / 8; ++n) {
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
        scores[n][i] = gradients[n][i] = 0.0f;
#pragma unroll
      for (i32 step = 0; step < kSteps; ++step) {
        u32 right[2];
        readRightOfRows<kStride>(right, keys, 8 * n, 16 * step);
        multiplyPairs<T>(scores[n], queries[step], right);
        readRightOfRows<kStride>(right, values, 8 * n, 16 * step);
        multiplyPairs<T>(gradients[n], outs[step], right);
      }
#pragma unroll
      for (i32 i = 0; i < 4; ++i) {
        i32 r = i / 2, t = row0 + 16 * warp + lane / 4 + 8 * r, s = key0 + 8 * n + lane % 4 * 2 + i % 2;
        probabilityOf<T, Shape>(t, s, scores[n][i], head.mask, largest[r], logSums[r], deltas[r], gradients[n][i]);
      }
    }
#pragma unroll
    for (i32 j = 0; j < kKeyTile / 16; ++j) {
      u32 left[4];
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
        left[i] = packPair<T>(gradients[2 * j + i / 2][i % 2 * 2], gradients[2 * j + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (i32 n = 0; n < kPadded / 16; ++n) {
        u32 first[2], second[2];
        readRightOfColumns<kStride>(first, second, keys, 16 * j, 16 * n);
        multiplyPairs<T>(sums[2 * n], left, first);
        multiplyPairs<T>(sums[2 * n + 1], left, second);
      }
    }
  }
  storeRows<kPadded, kSize>(sums, queryGradient + batch * Shape::kQueryGradientBatch + number * Shape::kQueryGradientHead,
                            i64(Shape::kQueryGradientPosition), row0 + 16 * warp, i32(Shape::kQueries), Shape::kScale, Shape::kScale);
}

} // namespace zero
