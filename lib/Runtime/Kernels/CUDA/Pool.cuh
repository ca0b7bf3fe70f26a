//===- Pool.cuh - max_pool and sum_pool -----------------------------------===//
//
// A thread for each result, which takes its window's elements in row-major order.
//
//===----------------------------------------------------------------------===//

namespace zero {

/// Calls take(place in the plane) for each element of the window of result number `result` that lies in the data.
/// Shape: spatial sizes, window, strides, low paddings, dilations and positions of three dimensions.
template <typename Shape, typename Take> __device__ void forEachInWindow(i64 result, Take take) {
  i64 x = result % Shape::kPositions2, y = result / Shape::kPositions2 % Shape::kPositions1,
      z = result / (Shape::kPositions2 * Shape::kPositions1);
  for (i64 kz = 0; kz < Shape::kWindow0; ++kz) {
    i64 dz = z * Shape::kStride0 - Shape::kLow0 + kz * Shape::kDilation0;
    if (dz < 0 || dz >= Shape::kSpatial0)
      continue;
    for (i64 ky = 0; ky < Shape::kWindow1; ++ky) {
      i64 dy = y * Shape::kStride1 - Shape::kLow1 + ky * Shape::kDilation1;
      if (dy < 0 || dy >= Shape::kSpatial1)
        continue;
      for (i64 kx = 0; kx < Shape::kWindow2; ++kx) {
        i64 dx = x * Shape::kStride2 - Shape::kLow2 + kx * Shape::kDilation2;
        if (dx >= 0 && dx < Shape::kSpatial2)
          take((dz * Shape::kSpatial1 + dy) * Shape::kSpatial2 + dx);
      }
    }
  }
}

template <typename Shape> struct PoolSizes {
  static constexpr i64 kPlane = Shape::kSpatial0 * Shape::kSpatial1 * Shape::kSpatial2;
  static constexpr i64 kResults = Shape::kPositions0 * Shape::kPositions1 * Shape::kPositions2;
};

/// The larger, the first of equals, the first NaN.
template <typename T, typename Shape> __device__ void maxPool(const T *data, T *out, i64 *indices) {
  using Sizes = PoolSizes<Shape>;
  i64 threads = i64(gridDim.x) * blockDim.x;
  for (i64 item = i64(blockIdx.x) * blockDim.x + threadIdx.x; item < Shape::kPlanes * Sizes::kResults; item += threads) {
    const T *plane = data + item / Sizes::kResults * Sizes::kPlane;
    T best = T();
    i64 place = -1;
    forEachInWindow<Shape>(item % Sizes::kResults, [&](i64 at) {
      T value = plane[at];
      if (place < 0 || (!(value <= best) && best == best)) {
        best = value;
        place = at;
      }
    });
    out[item] = best;
    indices[item] = place;
  }
}

template <typename T, typename Shape> __device__ void sumPool(const T *data, T *out) {
  using Sizes = PoolSizes<Shape>;
  i64 threads = i64(gridDim.x) * blockDim.x;
  for (i64 item = i64(blockIdx.x) * blockDim.x + threadIdx.x; item < Shape::kPlanes * Sizes::kResults; item += threads) {
    const T *plane = data + item / Sizes::kResults * Sizes::kPlane;
    T sum = T(0);
    forEachInWindow<Shape>(item % Sizes::kResults, [&](i64 at) { sum += plane[at]; });
    out[item] = sum;
  }
}

} // namespace zero
