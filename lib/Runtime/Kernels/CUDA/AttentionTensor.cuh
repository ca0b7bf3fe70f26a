//===- AttentionTensor.cuh - Attention of 16-bit floats on tensor cores ---===//
//
// As AttentionForward.cuh and AttentionBackward.cuh, for heads of up to 128: blocks of four warps, each with 16 rows of a tile of
// scores in registers. Scores and sums are float32; probabilities, and gradients of scores, are rounded to 16 bits for the products that
// they enter (as CPUs that multiply bf16 do). The next tile is copied to shared memory while one is multiplied. Shared memory is
// dynamic: AttentionLaunches.cpp counts it.
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
  extern __shared__ uint4 shared[];
  T *tiles = reinterpret_cast<T *>(shared); // twice keys and values
  u32 item = blockIdx.x / kTiles;
  i32 row0 = (kTiles - 1 - i32(blockIdx.x % kTiles)) * kScoreTile; // later tiles see more keys: they come first
  i64 batch = item / Shape::kHeads, head = item % Shape::kHeads, group = head / (Shape::kHeads / Shape::kGroups);
  query += batch * Shape::kQueryBatch + head * Shape::kQueryHead;
  key += batch * Shape::kKeyBatch + group * Shape::kKeyHead;
  value += batch * Shape::kValueBatch + group * Shape::kValueHead;
  const T *added = maskOf<Shape>(mask, batch, head);
  i32 lane = i32(threadIdx.x % 32), warp = i32(threadIdx.x / 32), end = keysSeen<Shape>(row0 + kScoreTile - 1);
  auto load = [&](i32 half, i32 key0) {
    T *keys = tiles + half * 2 * kScoreTile * kStride;
    loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kKeyPosition>(keys, key, key0, i32(Shape::kKeys));
    loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kValuePosition>(keys + kScoreTile * kStride, value, key0, i32(Shape::kKeys));
  };
  T *queryTile = tiles + 2 * kScoreTile * kStride; // until the second tile comes
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kQueryPosition>(queryTile, query, row0, i32(Shape::kQueries));
  load(0, 0);
  waitForCopies();
  __syncthreads();
  u32 queries[kSteps][4];
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step)
    readLeft<kStride>(queries[step], queryTile, 16 * warp, 16 * step);
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
  for (i32 key0 = 0, half = 0; key0 < end; key0 += kScoreTile, half ^= 1) {
    waitForCopies();
    __syncthreads(); // this tile is there, and nobody reads the other one any more
    if (key0 + kScoreTile < end)
      load(half ^ 1, key0 + kScoreTile);
    const T *keys = tiles + half * 2 * kScoreTile * kStride, *values = keys + kScoreTile * kStride;
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
  extern __shared__ uint4 shared[];
  // Keys and values; twice queries and gradients of their results; twice of each row log-sum-exp, product of result and gradient, and
  // largest number of the mask.
  T *keys = reinterpret_cast<T *>(shared), *values = keys + kScoreTile * kStride, *rowTiles = values + kScoreTile * kStride;
  float *rowNumbers = reinterpret_cast<float *>(rowTiles + 4 * kRowTile * kStride);
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
  i32 start = firstRow > 0 ? firstRow / kRowTile * kRowTile : 0;
  auto headOf = [&](i32 each) {
    return headRows<T, Shape>(batch, group * kEach + each, query, key, value, mask, outGradient, logSumExp, workspace);
  };
  auto load = [&](i32 half, const HeadRows<T> &head, i32 row0) {
    T *rows = rowTiles + half * 2 * kRowTile * kStride;
    loadTile<kThreads, kRowTile, kSize, kPadded, kStride, Shape::kQueryPosition>(rows, head.query, row0, i32(Shape::kQueries));
    loadTile<kThreads, kRowTile, kSize, kPadded, kStride, Shape::kOutGradientPosition>(rows + kRowTile * kStride, head.outGradient, row0,
                                                                                      i32(Shape::kQueries));
    float *numbers = rowNumbers + half * 3 * kRowTile;
    if (i32 row = i32(threadIdx.x); row < kRowTile) {
      bool isRow = row0 + row < i32(Shape::kQueries);
      i32 at = isRow ? row0 + row : 0;
      startCopy(numbers + row, head.logSumExp + at, isRow);
      startCopy(numbers + kRowTile + row, head.delta + at, isRow);
      if constexpr (Shape::kMask)
        startCopy(numbers + 2 * kRowTile + row, head.largestMask + at, isRow);
    }
  };
  if (kEach > 0 && start < i32(Shape::kQueries))
    load(0, headOf(0), start);
  i32 half = 0;
#pragma unroll 1
  for (i32 each = 0; each < kEach; ++each) {
    HeadRows<T> head = headOf(each);
#pragma unroll 1
    for (i32 row0 = start; row0 < i32(Shape::kQueries); row0 += kRowTile, half ^= 1) {
      waitForCopies();
      __syncthreads(); // these rows are there, and nobody reads the others any more
      if (row0 + kRowTile < i32(Shape::kQueries))
        load(half ^ 1, head, row0 + kRowTile);
      else if (each + 1 < kEach)
        load(half ^ 1, headOf(each + 1), start);
      const T *queries = rowTiles + half * 2 * kRowTile * kStride, *outs = queries + kRowTile * kStride;
      const float *numbers = rowNumbers + half * 3 * kRowTile;
      float scores[kRowTile / 8][4], gradients[kRowTile / 8][4];
#pragma unroll
      for (i32 n = 0; n < kRowTile / 8; ++n)
#pragma unroll
        for (i32 i = 0; i < 4; ++i)
          scores[n][i] = gradients[n][i] = 0.0f;
#pragma unroll 2
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
          scores[n][i] = probabilityOf<T, Shape>(row0 + row, s, scores[n][i], head.mask, Shape::kMask ? numbers[2 * kRowTile + row] : 0.0f,
                                                 numbers[row], numbers[kRowTile + row], gradients[n][i]);
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

/// A block for 64 queries; a warp has scores of its 16 rows by kKeyTile keys.
template <typename T, typename Shape>
__device__ void attentionQueryGradientTensor(const T *query, const T *key, const T *value, const T *mask, const float *logSumExp,
                                             const T *outGradient, T *queryGradient, const float *workspace) {
  using Sizes = TensorSizes<Shape>;
  constexpr i32 kThreads = Sizes::kThreads, kSize = Sizes::kSize, kPadded = Sizes::kPadded, kStride = Sizes::kStride, kSteps = Sizes::kSteps,
                kTiles = i32((Shape::kQueries + kScoreTile - 1) / kScoreTile), kKeyTile = kPadded <= 96 ? 32 : 16;
  extern __shared__ uint4 shared[];
  T *tiles = reinterpret_cast<T *>(shared); // twice keys and values; first of all queries and gradients of their results
  i32 row0 = (kTiles - 1 - i32(blockIdx.x % kTiles)) * kScoreTile, lane = i32(threadIdx.x % 32), warp = i32(threadIdx.x / 32);
  i64 item = blockIdx.x / kTiles, batch = item / Shape::kHeads, number = item % Shape::kHeads;
  HeadRows<T> head = headRows<T, Shape>(batch, number, query, key, value, mask, outGradient, logSumExp, workspace);
  i32 end = keysSeen<Shape>(row0 + kScoreTile - 1);
  u32 queries[kSteps][4], outs[kSteps][4];
  T *outTile = tiles + kScoreTile * kStride;
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kQueryPosition>(tiles, head.query, row0, i32(Shape::kQueries));
  loadTile<kThreads, kScoreTile, kSize, kPadded, kStride, Shape::kOutGradientPosition>(outTile, head.outGradient, row0, i32(Shape::kQueries));
  waitForCopies();
  __syncthreads();
#pragma unroll
  for (i32 step = 0; step < kSteps; ++step) {
    readLeft<kStride>(queries[step], tiles, 16 * warp, 16 * step);
    readLeft<kStride>(outs[step], outTile, 16 * warp, 16 * step);
  }
  __syncthreads();
  auto load = [&](i32 half, i32 key0) {
    T *keys = tiles + half * 2 * kKeyTile * kStride;
    loadTile<kThreads, kKeyTile, kSize, kPadded, kStride, Shape::kKeyPosition>(keys, head.key, key0, i32(Shape::kKeys));
    loadTile<kThreads, kKeyTile, kSize, kPadded, kStride, Shape::kValuePosition>(keys + kKeyTile * kStride, head.value, key0, i32(Shape::kKeys));
  };
  load(0, 0);
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
  for (i32 key0 = 0, half = 0; key0 < end; key0 += kKeyTile, half ^= 1) {
    waitForCopies();
    __syncthreads(); // this tile is there, and nobody reads the other one any more
    if (key0 + kKeyTile < end)
      load(half ^ 1, key0 + kKeyTile);
    const T *keys = tiles + half * 2 * kKeyTile * kStride, *values = keys + kKeyTile * kStride;
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
