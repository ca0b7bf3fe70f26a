//===- Attention.cuh - What the attention kernels share -------------------===//
//
// Flash attention (arXiv 2205.14135): scores exist in tiles of 64 x 64 alone. Tiles that a causal mask hides are never computed; each
// row's numbers come from the same operations in the same order wherever the row stands in its tile. This is the arithmetic of
// float32 (16-bit floats are widened as they are read): products are sums of fused multiply-adds, in the order of the elements.
//
// Shape (a struct of constants): kBatch, kQueries, kKeys, kHeads, kGroups, kSize, kCausal, kMask, kMaskBatch, kMaskHeads, kScale, and
// strides kQueryBatch, kQueryPosition, kQueryHead, ...
//
//===----------------------------------------------------------------------===//

namespace zero {

constexpr i32 kScoreTile = 64; ///< rows and columns of a tile of scores

__device__ inline float infinity() { return asFloat(0x7f800000u); }
/// What log_sum_exp is relative to: the largest number of the row's mask, where it is finite.
__device__ inline float finiteOrZero(float value) { return fabsf(value) < infinity() ? value : 0.0f; }

/// Whether query row t sees key s; both may lie behind the end.
template <typename Shape> __device__ bool sees(i32 t, i32 s) {
  return t < i32(Shape::kQueries) && s < i32(Shape::kKeys) && (!Shape::kCausal || s <= t + i32(Shape::kKeys - Shape::kQueries));
}
/// The keys that rows up to t see end before this one.
template <typename Shape> __device__ i32 keysSeen(i32 t) {
  i32 last = i32(Shape::kQueries) - 1;
  i32 end = (t < last ? t : last) + i32(Shape::kKeys - Shape::kQueries) + 1;
  return Shape::kCausal && end < i32(Shape::kKeys) ? end : i32(Shape::kKeys);
}
template <typename Shape, typename T> __device__ const T *maskOf(const T *mask, i64 batch, i64 head) {
  i64 matrix = (Shape::kMaskBatch > 1 ? batch : 0) * Shape::kMaskHeads + (Shape::kMaskHeads > 1 ? head : 0);
  return mask + matrix * Shape::kQueries * Shape::kKeys;
}

/// slab[d][row]: kDepth elements from `d0` on of 64 rows from `row0` on, times `scale`; zeros behind the end.
template <i32 kThreads, i32 kDepth, i32 kSize, typename T>
__device__ void loadTransposed(float (&slab)[kDepth][kScoreTile + 4], const T *rows, i64 stride, i32 row0, i32 end, i32 d0, float scale) {
  i32 d = i32(threadIdx.x) % kDepth;
#pragma unroll
  for (i32 row = i32(threadIdx.x) / kDepth; row < kScoreTile; row += kThreads / kDepth)
    slab[d][row] = row0 + row < end && d0 + d < kSize ? toFloat(rows[(row0 + row) * stride + d0 + d]) * scale : 0.0f;
}

/// slab[row][column]: kRows rows from `row0` on, elements from `column0` on; zeros behind the end.
template <i32 kThreads, i32 kRows, i32 kColumns, i32 kSize, typename T>
__device__ void loadRows(float *slab, const T *rows, i64 stride, i32 row0, i32 end, i32 column0) {
#pragma unroll
  for (i32 i = i32(threadIdx.x); i < kRows * kColumns; i += kThreads) {
    i32 row = row0 + i / kColumns, column = column0 + i % kColumns;
    slab[i] = row < end && column < kSize ? toFloat(rows[row * stride + column]) : 0.0f;
  }
}

/// What gradients of one head are made of.
template <typename T> struct HeadRows {
  const T *query, *key, *value, *outGradient, *mask;
  const float *logSumExp, *delta, *largestMask;
};

/// Where the numbers of one head begin.
template <typename T, typename Shape>
__device__ HeadRows<T> headRows(i64 batch, i64 head, const T *query, const T *key, const T *value, const T *mask, const T *outGradient,
                                const float *logSumExp, const float *workspace) {
  i64 group = head / (Shape::kHeads / Shape::kGroups), first = (batch * Shape::kHeads + head) * Shape::kQueries;
  return {query + batch * Shape::kQueryBatch + head * Shape::kQueryHead,
          key + batch * Shape::kKeyBatch + group * Shape::kKeyHead,
          value + batch * Shape::kValueBatch + group * Shape::kValueHead,
          outGradient + batch * Shape::kOutGradientBatch + head * Shape::kOutGradientHead,
          maskOf<Shape>(mask, batch, head),
          logSumExp + first,
          workspace + first,
          workspace + Shape::kBatch * Shape::kHeads * Shape::kQueries + first};
}

__device__ inline void readFour(float *to, const float *from) {
  float4 four = *reinterpret_cast<const float4 *>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ inline void writeFour(float *to, float a, float b, float c, float d) { *reinterpret_cast<float4 *>(to) = float4{a, b, c, d}; }

} // namespace zero
