//===- Convolution.cuh - conv, conv_transpose and conv_weight_grad --------===//
//
// Convolutions as products of matrices that are never written down (implicit GEMM): result (m, n) = sum over k of left(m, k) times
// right(k, n), for each group. Tiles of 64 x 64 by 256 threads, 16 steps of the sum at a time; products of few rows have a thread, or
// a block, for each result. Sums are fused multiply-adds in one order, in float32 (f64: in double), rounded once.
//
// Shape (a struct of constants): kBatch, kChannels, kFilters, kGroups, kDepth (channels of a group), kFan (filters of a group), and
// kSpatial0, kWindow0, kStride0, kLow0, kDilation0, kPositions0, ..., of three dimensions. Index: i32, i64 where places do not fit.
//
//===----------------------------------------------------------------------===//

namespace zero {

template <typename T> struct SumOf {
  using Type = float;
};
template <> struct SumOf<double> {
  using Type = double;
};
template <typename T> __device__ float widened(T value) { return toFloat(value); }
__device__ inline double widened(double value) { return value; }
__device__ inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return fma(a, b, c); }
template <typename T, typename Sum> __device__ T roundSum(Sum sum) {
  if constexpr (sizeof(Sum) == sizeof(T))
    return sum;
  else
    return fromFloat<T>(sum);
}

/// Places in three dimensions.
template <typename Index> struct Place {
  Index z, y, x;
};
template <typename Shape> struct Convolution {
  using Index = typename Shape::Index;
  static constexpr Index kTaps = Shape::kWindow0 * Shape::kWindow1 * Shape::kWindow2;
  static constexpr Index kResults = Shape::kPositions0 * Shape::kPositions1 * Shape::kPositions2;
  static constexpr Index kPlane = Shape::kSpatial0 * Shape::kSpatial1 * Shape::kSpatial2;

  static __device__ Place<Index> tapOf(Index tap) {
    return {tap / Index(Shape::kWindow1 * Shape::kWindow2), tap / Index(Shape::kWindow2) % Index(Shape::kWindow1), tap % Index(Shape::kWindow2)};
  }
  static __device__ Place<Index> resultOf(Index result) {
    return {result / Index(Shape::kPositions1 * Shape::kPositions2), result / Index(Shape::kPositions2) % Index(Shape::kPositions1),
            result % Index(Shape::kPositions2)};
  }
  static __device__ Place<Index> elementOf(Index element) {
    return {element / Index(Shape::kSpatial1 * Shape::kSpatial2), element / Index(Shape::kSpatial2) % Index(Shape::kSpatial1),
            element % Index(Shape::kSpatial2)};
  }
  /// The element of a plane that tap `k` of the window at `o` reads, -1 where it lies outside.
  static __device__ Index read(Place<Index> o, Place<Index> k) {
    Index z = o.z * Index(Shape::kStride0) - Index(Shape::kLow0) + k.z * Index(Shape::kDilation0);
    Index y = o.y * Index(Shape::kStride1) - Index(Shape::kLow1) + k.y * Index(Shape::kDilation1);
    Index x = o.x * Index(Shape::kStride2) - Index(Shape::kLow2) + k.x * Index(Shape::kDilation2);
    bool isInside = z >= 0 && z < Index(Shape::kSpatial0) && y >= 0 && y < Index(Shape::kSpatial1) && x >= 0 && x < Index(Shape::kSpatial2);
    return isInside ? (z * Index(Shape::kSpatial1) + y) * Index(Shape::kSpatial2) + x : Index(-1);
  }
  /// The window along one dimension whose tap `k` reads element `at`, -1 where none does.
  static __device__ Index windowOf(Index at, Index k, Index low, Index dilation, Index stride, Index positions) {
    Index distance = at + low - k * dilation, o = distance / stride;
    return distance >= 0 && distance % stride == 0 && o < positions ? o : Index(-1);
  }
  /// The result whose window's tap `k` reads element `at`, -1 where there is none.
  static __device__ Index readBy(Place<Index> at, Place<Index> k) {
    Index z = windowOf(at.z, k.z, Shape::kLow0, Shape::kDilation0, Shape::kStride0, Shape::kPositions0);
    Index y = windowOf(at.y, k.y, Shape::kLow1, Shape::kDilation1, Shape::kStride1, Shape::kPositions1);
    Index x = windowOf(at.x, k.x, Shape::kLow2, Shape::kDilation2, Shape::kStride2, Shape::kPositions2);
    return z >= 0 && y >= 0 && x >= 0 ? (z * Index(Shape::kPositions1) + y) * Index(Shape::kPositions2) + x : Index(-1);
  }
};

/// out = data * kernel: filters by positions of all images, summed over channels and taps.
template <typename T, typename Shape> struct ForwardProduct {
  using C = Convolution<Shape>;
  using Index = typename C::Index;
  using Sum = typename SumOf<T>::Type;
  static constexpr Index kM = Shape::kFan, kN = Shape::kBatch * C::kResults, kK = Shape::kDepth * C::kTaps;
  static constexpr bool kLeftAlongK = true, kRightAlongK = false; // how neighbouring threads read

  const T *data, *kernel;
  T *out;

  __device__ Sum left(Index group, Index m, Index k) const { return widened(kernel[(group * kM + m) * kK + k]); }
  __device__ Sum right(Index group, Index k, Index n) const {
    Index image = n / C::kResults, channel = group * Index(Shape::kDepth) + k / C::kTaps;
    Index at = C::read(C::resultOf(n % C::kResults), C::tapOf(k % C::kTaps));
    return at < 0 ? Sum(0) : Sum(widened(data[(image * Index(Shape::kChannels) + channel) * C::kPlane + at]));
  }
  __device__ void store(Index group, Index m, Index n, Sum sum) const {
    Index image = n / C::kResults;
    out[(image * Index(Shape::kFilters) + group * kM + m) * C::kResults + n % C::kResults] = roundSum<T>(sum);
  }
};

/// data = out * kernel transposed: channels by elements of all images, summed over filters and taps.
template <typename T, typename Shape> struct TransposedProduct {
  using C = Convolution<Shape>;
  using Index = typename C::Index;
  using Sum = typename SumOf<T>::Type;
  static constexpr Index kM = Shape::kDepth, kN = Shape::kBatch * C::kPlane, kK = Shape::kFan * C::kTaps;
  static constexpr bool kLeftAlongK = true, kRightAlongK = false;

  const T *out, *kernel;
  T *data;

  __device__ Sum left(Index group, Index m, Index k) const {
    Index filter = group * Index(Shape::kFan) + k / C::kTaps;
    return widened(kernel[(filter * kM + m) * C::kTaps + k % C::kTaps]);
  }
  __device__ Sum right(Index group, Index k, Index n) const {
    Index image = n / C::kPlane, filter = group * Index(Shape::kFan) + k / C::kTaps;
    Index at = C::readBy(C::elementOf(n % C::kPlane), C::tapOf(k % C::kTaps));
    return at < 0 ? Sum(0) : Sum(widened(out[(image * Index(Shape::kFilters) + filter) * C::kResults + at]));
  }
  __device__ void store(Index group, Index m, Index n, Sum sum) const {
    Index image = n / C::kPlane;
    data[(image * Index(Shape::kChannels) + group * kM + m) * C::kPlane + n % C::kPlane] = roundSum<T>(sum);
  }
};

/// kernel = out * data: filters by channels and taps, summed over the positions of all images. With `partial` sums of ranges of
/// positions go there, to be added in order.
template <typename T, typename Shape> struct KernelProduct {
  using C = Convolution<Shape>;
  using Index = typename C::Index;
  using Sum = typename SumOf<T>::Type;
  static constexpr Index kM = Shape::kFan, kN = Shape::kDepth * C::kTaps, kK = Shape::kBatch * C::kResults;
  static constexpr bool kLeftAlongK = true, kRightAlongK = true;

  const T *data, *out;
  T *kernel;
  Sum *partial;

  __device__ Sum left(Index group, Index m, Index k) const {
    Index image = k / C::kResults;
    return widened(out[(image * Index(Shape::kFilters) + group * kM + m) * C::kResults + k % C::kResults]);
  }
  __device__ Sum right(Index group, Index k, Index n) const {
    Index image = k / C::kResults, channel = group * Index(Shape::kDepth) + n / C::kTaps;
    Index at = C::read(C::resultOf(k % C::kResults), C::tapOf(n % C::kTaps));
    return at < 0 ? Sum(0) : Sum(widened(data[(image * Index(Shape::kChannels) + channel) * C::kPlane + at]));
  }
  __device__ void store(Index group, Index m, Index n, Sum sum) const {
    Index at = (group * kM + m) * kN + n;
    if (partial)
      partial[at] = sum;
    else
      kernel[at] = roundSum<T>(sum);
  }
};

/// Results of one tile of one group, summed over [range * kRange, (range + 1) * kRange) of kK.
template <typename Product, i64 kRange> __device__ void multiplyTile(Product product, u32 block, typename Product::Index range) {
  using Index = typename Product::Index;
  using Sum = typename Product::Sum;
  constexpr Index kTile = 64, kSteps = 16, kMTiles = (Product::kM + kTile - 1) / kTile, kNTiles = (Product::kN + kTile - 1) / kTile;
  __shared__ Sum left[2][kSteps][kTile + 4], right[2][kSteps][kTile + 4];
  Index thread = Index(threadIdx.x), x = thread % 16, y = thread / 16;
  // Neighbouring blocks share the right side.
  Index m0 = Index(block) % kMTiles * kTile, n0 = Index(block) / kMTiles % kNTiles * kTile, group = Index(block) / (kMTiles * kNTiles);
  Index begin = range * Index(kRange), end = begin + Index(kRange) < Product::kK ? begin + Index(kRange) : Product::kK;
  auto kOf = [&](bool alongK, Index i) { return alongK ? thread % kSteps : thread / kTile + 4 * i; };
  auto rowOf = [&](bool alongK, Index i) { return alongK ? thread / kSteps + 16 * i : thread % kTile; };
  Sum nextLeft[4], nextRight[4];
  auto load = [&](Index k0) {
#pragma unroll
    for (Index i = 0; i < 4; ++i) {
      Index k = k0 + kOf(Product::kLeftAlongK, i), m = m0 + rowOf(Product::kLeftAlongK, i);
      nextLeft[i] = k < end && m < Product::kM ? product.left(group, m, k) : Sum(0);
    }
#pragma unroll
    for (Index i = 0; i < 4; ++i) {
      Index k = k0 + kOf(Product::kRightAlongK, i), n = n0 + rowOf(Product::kRightAlongK, i);
      nextRight[i] = k < end && n < Product::kN ? product.right(group, k, n) : Sum(0);
    }
  };
  auto keep = [&](Index half) {
#pragma unroll
    for (Index i = 0; i < 4; ++i) {
      left[half][kOf(Product::kLeftAlongK, i)][rowOf(Product::kLeftAlongK, i)] = nextLeft[i];
      right[half][kOf(Product::kRightAlongK, i)][rowOf(Product::kRightAlongK, i)] = nextRight[i];
    }
  };
  Sum sums[4][4];
#pragma unroll
  for (Index i = 0; i < 4; ++i)
#pragma unroll
    for (Index j = 0; j < 4; ++j)
      sums[i][j] = Sum(0);
  load(begin);
  keep(0);
  __syncthreads();
  Index half = 0;
#pragma unroll 1
  for (Index k0 = begin; k0 < end; k0 += kSteps) {
    bool isLast = k0 + kSteps >= end;
    if (!isLast)
      load(k0 + kSteps); // in flight while this tile is multiplied
#pragma unroll
    for (Index k = 0; k < kSteps; ++k) {
      Sum a[4], b[4];
#pragma unroll
      for (Index i = 0; i < 4; ++i) {
        a[i] = left[half][k][4 * y + i];
        b[i] = right[half][k][4 * x + i];
      }
#pragma unroll
      for (Index i = 0; i < 4; ++i)
#pragma unroll
        for (Index j = 0; j < 4; ++j)
          sums[i][j] = fused(a[i], b[j], sums[i][j]);
    }
    half ^= 1;
    if (!isLast)
      keep(half);
    __syncthreads();
  }
#pragma unroll
  for (Index i = 0; i < 4; ++i)
#pragma unroll
    for (Index j = 0; j < 4; ++j)
      if (m0 + 4 * y + i < Product::kM && n0 + 4 * x + j < Product::kN)
        product.store(group, m0 + 4 * y + i, n0 + 4 * x + j, sums[i][j]);
}

/// A thread for each result.
template <typename Product, u64 kGroups> __device__ void multiplySingly(Product product) {
  using Index = typename Product::Index;
  u64 threads = u64(gridDim.x) * blockDim.x;
  for (u64 item = u64(blockIdx.x) * blockDim.x + threadIdx.x; item < kGroups * Product::kM * Product::kN; item += threads) {
    Index n = Index(item % u64(Product::kN)), m = Index(item / u64(Product::kN) % u64(Product::kM)),
          group = Index(item / (u64(Product::kN) * u64(Product::kM)));
    typename Product::Sum sum(0);
#pragma unroll 1
    for (Index k = 0; k < Product::kK; ++k)
      sum = fused(product.left(group, m, k), product.right(group, k, n), sum);
    product.store(group, m, n, sum);
  }
}

/// A block of 256 threads for each result: threads' sums in order, then as a tree.
template <typename Product> __device__ void multiplyByBlocks(Product product) {
  using Index = typename Product::Index;
  using Sum = typename Product::Sum;
  __shared__ Sum warps[8];
  Index block = Index(blockIdx.x), n = block % Product::kN, m = block / Product::kN % Product::kM, group = block / (Product::kN * Product::kM);
  Sum sum(0);
#pragma unroll 1
  for (Index k = Index(threadIdx.x); k < Product::kK; k += 256)
    sum = fused(product.left(group, m, k), product.right(group, k, n), sum);
#pragma unroll
  for (i32 distance = 16; distance > 0; distance /= 2)
    sum += shuffleXor(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (i32 i = 1; i < 8; ++i)
    sum += warps[i];
  product.store(group, m, n, sum);
}

/// out[i] = the sum over `kRanges` of partial[range * kCount + i], in order, rounded once.
template <typename T, typename Sum, u64 kCount, u64 kRanges> __device__ void addRanges(const Sum *partial, T *out) {
  u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= kCount)
    return;
  Sum sum = partial[i];
#pragma unroll 4
  for (u64 range = 1; range < kRanges; ++range)
    sum += partial[range * kCount + i];
  out[i] = roundSum<T>(sum);
}

} // namespace zero
