//===- AttentionBackward.cuh - attention_grad -----------------------------===//
//
// Three launches: of each row the product of result and gradient (and the largest number of its mask); gradients of keys and values,
// a block for 64 keys, over the heads of their group and all queries in order; gradients of queries, a block for 64 rows. Scores are
// computed twice, and nothing is added by two blocks. 256 threads in 16 rows of 16, each with 4 x 4 of a tile of scores.
//
// Workspace: kBatch x kHeads x kQueries floats, with a mask twice.
//
//===----------------------------------------------------------------------===//

namespace zero {

/// A warp for each row.
template <typename T, typename Shape>
__device__ void attentionRowProducts(const T *mask, const T *out, const T *outGradient, float *workspace) {
  i64 rows = i64(Shape::kBatch) * Shape::kHeads * Shape::kQueries;
  i64 row = i64(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows)
    return;
  i32 lane = i32(threadIdx.x % 32), t = i32(row % Shape::kQueries);
  i64 head = row / Shape::kQueries % Shape::kHeads, batch = row / (i64(Shape::kQueries) * Shape::kHeads);
  const T *left = out + batch * Shape::kOutBatch + t * i64(Shape::kOutPosition) + head * Shape::kOutHead;
  const T *right =
      outGradient + batch * Shape::kOutGradientBatch + t * i64(Shape::kOutGradientPosition) + head * Shape::kOutGradientHead;
  float sum = 0.0f;
  for (i32 d = lane; d < i32(Shape::kSize); d += 32)
    sum = fmaf(toFloat(left[d]), toFloat(right[d]), sum);
#pragma unroll
  for (i32 distance = 16; distance > 0; distance /= 2)
    sum += shuffleXor(0xffffffffu, sum, distance);
  if (lane == 0)
    workspace[row] = sum;
  if constexpr (Shape::kMask) {
    const T *numbers = maskOf<Shape>(mask, batch, head) + t * i64(Shape::kKeys);
    float most = -infinity();
    for (i32 s = lane; s < keysSeen<Shape>(t); s += 32)
      most = fmaxf(most, toFloat(numbers[s]));
#pragma unroll
    for (i32 distance = 16; distance > 0; distance /= 2)
      most = fmaxf(most, shuffleXor(0xffffffffu, most, distance));
    if (lane == 0)
      workspace[rows + row] = finiteOrZero(most);
  }
}

constexpr i32 kGradientDepth = 8, kGradientThreads = 256;

/// Shared memory of both kernels: two tiles of scores, and slabs of the operands of their products or of what they multiply.
struct GradientTiles {
  float first[kScoreTile][kScoreTile + 4], second[kScoreTile][kScoreTile + 4];
  union {
    float products[4][kGradientDepth][kScoreTile + 4];
    float rows[2][kGradientDepth * 128];
  };
};

/// This thread's 4 x 4 of the probabilities of rows from row0 on and keys from key0 on, and of the gradients of their scores.
template <typename T, typename Shape>
__device__ void gradientTile(GradientTiles &tiles, const HeadRows<T> &head, i32 row0, i32 key0, float (&probabilities)[4][4],
                             float (&gradients)[4][4]) {
  constexpr i32 kSize = i32(Shape::kSize);
  i32 x = i32(threadIdx.x) % 16, y = i32(threadIdx.x) / 16;
#pragma unroll
  for (i32 i = 0; i < 4; ++i)
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
      probabilities[i][j] = gradients[i][j] = 0.0f;
#pragma unroll 1
  for (i32 d0 = 0; d0 < kSize; d0 += kGradientDepth) {
    __syncthreads();
    auto load = [&](i32 slab, const T *rows, i64 stride, i32 first, i32 end, float scale) {
      loadTransposed<kGradientThreads, kGradientDepth, kSize>(tiles.products[slab], rows, stride, first, end, d0, scale);
    };
    load(0, head.query, Shape::kQueryPosition, row0, i32(Shape::kQueries), Shape::kScale);
    load(1, head.key, Shape::kKeyPosition, key0, i32(Shape::kKeys), 1.0f);
    load(2, head.outGradient, Shape::kOutGradientPosition, row0, i32(Shape::kQueries), 1.0f);
    load(3, head.value, Shape::kValuePosition, key0, i32(Shape::kKeys), 1.0f);
    __syncthreads();
#pragma unroll
    for (i32 d = 0; d < kGradientDepth; ++d) {
      float query[4], key[4], outGradient[4], value[4];
      readFour(query, &tiles.products[0][d][4 * y]);
      readFour(key, &tiles.products[1][d][4 * x]);
      readFour(outGradient, &tiles.products[2][d][4 * y]);
      readFour(value, &tiles.products[3][d][4 * x]);
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
#pragma unroll
        for (i32 j = 0; j < 4; ++j) {
          probabilities[i][j] = fmaf(query[i], key[j], probabilities[i][j]);
          gradients[i][j] = fmaf(outGradient[i], value[j], gradients[i][j]);
        }
    }
  }
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    i32 t = row0 + 4 * y + i;
    bool isRow = t < i32(Shape::kQueries);
    float logSumExp = isRow ? head.logSumExp[t] : 0.0f, delta = isRow ? head.delta[t] : 0.0f;
    float largest = Shape::kMask && isRow ? head.largestMask[t] : 0.0f;
#pragma unroll
    for (i32 j = 0; j < 4; ++j) {
      i32 s = key0 + 4 * x + j;
      bool isSeen = sees<Shape>(t, s);
      float score = probabilities[i][j];
      if (Shape::kMask && isSeen)
        score += toFloat(head.mask[t * i64(Shape::kKeys) + s]);
      float probability = isSeen ? expf((score - largest) - logSumExp) : 0.0f;
      probabilities[i][j] = probability;
      gradients[i][j] = probability * (gradients[i][j] - delta);
    }
  }
}

template <typename T, typename Shape>
__device__ void attentionKeyGradients(const T *query, const T *key, const T *value, const T *mask, const float *logSumExp,
                                      const T *outGradient, T *keyGradient, T *valueGradient, const float *workspace) {
  constexpr i32 kSize = i32(Shape::kSize), kColumns = kSize <= 64 ? 64 : 128, kWide = kColumns / 64,
                kChunks = (kSize + kColumns - 1) / kColumns, kTiles = i32((Shape::kKeys + kScoreTile - 1) / kScoreTile),
                kEach = i32(Shape::kHeads / Shape::kGroups);
  __shared__ alignas(16) GradientTiles tiles;
  u32 block = blockIdx.x;
  i32 column0 = i32(block % kChunks) * kColumns, key0 = i32(block / kChunks % kTiles) * kScoreTile; // earlier keys are seen by more rows
  i64 item = block / (kTiles * kChunks), batch = item / Shape::kGroups, group = item % Shape::kGroups;
  i32 x = i32(threadIdx.x) % 16, y = i32(threadIdx.x) / 16;
  i32 firstRow = Shape::kCausal ? key0 - i32(Shape::kKeys - Shape::kQueries) : 0;
  float keySums[4][4 * kWide], valueSums[4][4 * kWide];
#pragma unroll
  for (i32 i = 0; i < 4; ++i)
#pragma unroll
    for (i32 j = 0; j < 4 * kWide; ++j)
      keySums[i][j] = valueSums[i][j] = 0.0f;
#pragma unroll 1
  for (i32 each = 0; each < kEach; ++each) {
    HeadRows<T> head =
        headRows<T, Shape>(batch, group * kEach + each, query, key, value, mask, outGradient, logSumExp, workspace);
#pragma unroll 1
    for (i32 row0 = firstRow > 0 ? firstRow / kScoreTile * kScoreTile : 0; row0 < i32(Shape::kQueries); row0 += kScoreTile) {
      float probabilities[4][4], gradients[4][4];
      gradientTile<T, Shape>(tiles, head, row0, key0, probabilities, gradients);
#pragma unroll
      for (i32 i = 0; i < 4; ++i) {
        writeFour(&tiles.first[4 * y + i][4 * x], probabilities[i][0], probabilities[i][1], probabilities[i][2], probabilities[i][3]);
        writeFour(&tiles.second[4 * y + i][4 * x], gradients[i][0], gradients[i][1], gradients[i][2], gradients[i][3]);
      }
#pragma unroll 1
      for (i32 t0 = 0; t0 < kScoreTile && row0 + t0 < i32(Shape::kQueries); t0 += kGradientDepth) {
        __syncthreads();
        loadRows<kGradientThreads, kGradientDepth, kColumns, kSize>(tiles.rows[0], head.outGradient, Shape::kOutGradientPosition,
                                                                    row0 + t0, i32(Shape::kQueries), column0);
        loadRows<kGradientThreads, kGradientDepth, kColumns, kSize>(tiles.rows[1], head.query, Shape::kQueryPosition, row0 + t0,
                                                                    i32(Shape::kQueries), column0);
        __syncthreads();
#pragma unroll
        for (i32 t = 0; t < kGradientDepth; ++t) {
          float p[4], g[4], outRow[4 * kWide], queryRow[4 * kWide];
          readFour(p, &tiles.first[t0 + t][4 * y]);
          readFour(g, &tiles.second[t0 + t][4 * y]);
#pragma unroll
          for (i32 w = 0; w < kWide; ++w) {
            readFour(outRow + 4 * w, &tiles.rows[0][t * kColumns + 64 * w + 4 * x]);
            readFour(queryRow + 4 * w, &tiles.rows[1][t * kColumns + 64 * w + 4 * x]);
          }
#pragma unroll
          for (i32 i = 0; i < 4; ++i)
#pragma unroll
            for (i32 j = 0; j < 4 * kWide; ++j) {
              valueSums[i][j] = fmaf(p[i], outRow[j], valueSums[i][j]);
              keySums[i][j] = fmaf(g[i], queryRow[j], keySums[i][j]);
            }
        }
      }
    }
  }
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    i32 s = key0 + 4 * y + i;
    if (s >= i32(Shape::kKeys))
      continue;
    T *keyRow = keyGradient + batch * Shape::kKeyGradientBatch + s * i64(Shape::kKeyGradientPosition) + group * Shape::kKeyGradientHead;
    T *valueRow =
        valueGradient + batch * Shape::kValueGradientBatch + s * i64(Shape::kValueGradientPosition) + group * Shape::kValueGradientHead;
#pragma unroll
    for (i32 j = 0; j < 4 * kWide; ++j)
      if (i32 column = column0 + j / 4 * 64 + 4 * x + j % 4; column < kSize) {
        keyRow[column] = fromFloat<T>(keySums[i][j] * Shape::kScale);
        valueRow[column] = fromFloat<T>(valueSums[i][j]);
      }
  }
}

template <typename T, typename Shape>
__device__ void attentionQueryGradient(const T *query, const T *key, const T *value, const T *mask, const float *logSumExp,
                                       const T *outGradient, T *queryGradient, const float *workspace) {
  constexpr i32 kSize = i32(Shape::kSize), kColumns = kSize <= 64 ? 64 : 128, kWide = kColumns / 64,
                kChunks = (kSize + kColumns - 1) / kColumns, kTiles = i32((Shape::kQueries + kScoreTile - 1) / kScoreTile);
  __shared__ alignas(16) GradientTiles tiles;
  u32 block = blockIdx.x;
  i32 column0 = i32(block % kChunks) * kColumns, row0 = (kTiles - 1 - i32(block / kChunks % kTiles)) * kScoreTile;
  i64 item = block / (kTiles * kChunks), batch = item / Shape::kHeads, number = item % Shape::kHeads;
  i32 x = i32(threadIdx.x) % 16, y = i32(threadIdx.x) / 16, end = keysSeen<Shape>(row0 + kScoreTile - 1);
  HeadRows<T> head = headRows<T, Shape>(batch, number, query, key, value, mask, outGradient, logSumExp, workspace);
  float sums[4][4 * kWide];
#pragma unroll
  for (i32 i = 0; i < 4; ++i)
#pragma unroll
    for (i32 j = 0; j < 4 * kWide; ++j)
      sums[i][j] = 0.0f;
#pragma unroll 1
  for (i32 key0 = 0; key0 < end; key0 += kScoreTile) {
    float probabilities[4][4], gradients[4][4];
    gradientTile<T, Shape>(tiles, head, row0, key0, probabilities, gradients);
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
      writeFour(&tiles.first[4 * x + j][4 * y], gradients[0][j], gradients[1][j], gradients[2][j], gradients[3][j]);
#pragma unroll 1
    for (i32 s0 = 0; s0 < kScoreTile && key0 + s0 < end; s0 += kGradientDepth) {
      __syncthreads();
      loadRows<kGradientThreads, kGradientDepth, kColumns, kSize>(tiles.rows[0], head.key, Shape::kKeyPosition, key0 + s0,
                                                                  i32(Shape::kKeys), column0);
      __syncthreads();
#pragma unroll
      for (i32 s = 0; s < kGradientDepth; ++s) {
        float g[4], keyRow[4 * kWide];
        readFour(g, &tiles.first[s0 + s][4 * y]);
#pragma unroll
        for (i32 w = 0; w < kWide; ++w)
          readFour(keyRow + 4 * w, &tiles.rows[0][s * kColumns + 64 * w + 4 * x]);
#pragma unroll
        for (i32 i = 0; i < 4; ++i)
#pragma unroll
          for (i32 j = 0; j < 4 * kWide; ++j)
            sums[i][j] = fmaf(g[i], keyRow[j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    i32 t = row0 + 4 * y + i;
    if (t >= i32(Shape::kQueries))
      continue;
    T *row = queryGradient + batch * Shape::kQueryGradientBatch + t * i64(Shape::kQueryGradientPosition) + number * Shape::kQueryGradientHead;
#pragma unroll
    for (i32 j = 0; j < 4 * kWide; ++j)
      if (i32 column = column0 + j / 4 * 64 + 4 * x + j % 4; column < kSize)
        row[column] = fromFloat<T>(sums[i][j] * Shape::kScale);
  }
}

} // namespace zero
