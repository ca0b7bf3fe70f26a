//===- ConvolutionLoops.cpp - Convolutions in plain loops -----------------===//
//
// For what oneDNN does not do. Sums of 16-bit floats are kept in float32. Rows of results are computed in
// tiles that stay in registers or the first cache; the order of each sum is channel, then window, then (for a
// kernel's gradient) image and position in eight lanes. Threads split independent outputs.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/ConvolutionLoops.h"
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Narrow.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include <type_traits>

using namespace zero;
using namespace zero::kernels;

namespace {

constexpr int64_t kTile = 64;

/// The shape with three spatial dimensions, and what loops ask of it.
struct Loops {
  int64_t batch, channels, filters, groups, depth;
  int64_t spatial[3] = {1, 1, 1}, window[3] = {1, 1, 1}, strides[3] = {1, 1, 1}, low[3] = {0, 0, 0},
          dilations[3] = {1, 1, 1}, positions[3] = {1, 1, 1};

  explicit Loops(const ConvolutionShape &shape)
      : batch(shape.batch), channels(shape.channels), filters(shape.filters), groups(shape.groups),
        depth(shape.channels / shape.groups) {
    size_t skip = 3 - shape.spatial.size();
    for (size_t i = skip; i < 3; ++i) {
      spatial[i] = shape.spatial[i - skip];
      window[i] = shape.window[i - skip];
      strides[i] = shape.strides[i - skip];
      low[i] = shape.low[i - skip];
      dilations[i] = shape.dilations[i - skip];
      positions[i] = shape.positions[i - skip];
    }
  }

  static int64_t volume(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }
  /// The first filter of the group of channel c, and the first channel of the group of filter f.
  int64_t firstFilter(int64_t c) const { return c / depth * (filters / groups); }
  int64_t firstChannel(int64_t f) const { return f / (filters / groups) * depth; }
  /// The position that tap k of window o reads along dimension i; outside the data it is none.
  bool reads(int i, int64_t o, int64_t k, int64_t &at) const {
    at = o * strides[i] - low[i] + k * dilations[i];
    return at >= 0 && at < spatial[i];
  }
  /// The windows [begin, end) whose tap k reads inside [from, to) along the last dimension.
  void windows(int64_t k, int64_t from, int64_t to, int64_t &begin, int64_t &end) const {
    int64_t offset = k * dilations[2] - low[2];
    auto atLeast = [&](int64_t position) { // the first window that reads at `position` or behind it
      int64_t distance = position - offset;
      return distance <= 0 ? 0 : (distance + strides[2] - 1) / strides[2];
    };
    begin = std::min(atLeast(from), positions[2]);
    end = std::min(atLeast(to), positions[2]);
  }
};

template <typename T> using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T> class Forward : public Kernel {
public:
  explicit Forward(const ConvolutionShape &shape) : n(shape) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *data = static_cast<const T *>(pointers[0]), *kernel = static_cast<const T *>(pointers[1]);
    auto *out = static_cast<T *>(pointers[2]);
    parallelFor(parallel, n.batch * n.filters, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t image = plane / n.filters, filter = plane % n.filters;
        const T *first = data + (image * n.channels + n.firstChannel(filter)) * n.volume(n.spatial);
        const T *taps = kernel + filter * n.depth * n.volume(n.window);
        T *rows = out + plane * n.volume(n.positions);
        for (int64_t z = 0; z < n.positions[0]; ++z)
          for (int64_t y = 0; y < n.positions[1]; ++y, rows += n.positions[2])
            for (int64_t x = 0; x < n.positions[2]; x += kTile)
              tile(first, taps, rows, z, y, x, std::min(x + kTile, n.positions[2]));
      }
    });
    return {};
  }

private:
  void tile(const T *data, const T *taps, T *row, int64_t z, int64_t y, int64_t from, int64_t to) const {
    Sum<T> sums[kTile] = {};
    for (int64_t c = 0; c < n.depth; ++c, data += n.volume(n.spatial))
      for (int64_t kz = 0; kz < n.window[0]; ++kz)
        for (int64_t ky = 0; ky < n.window[1]; ++ky, taps += n.window[2]) {
          int64_t dz, dy;
          if (!n.reads(0, z, kz, dz) || !n.reads(1, y, ky, dy))
            continue;
          const T *source = data + (dz * n.spatial[1] + dy) * n.spatial[2];
          for (int64_t kx = 0; kx < n.window[2]; ++kx) {
            int64_t begin, end;
            n.windows(kx, 0, n.spatial[2], begin, end);
            begin = std::max(begin, from);
            end = std::min(end, to);
            auto tap = static_cast<Sum<T>>(taps[kx]);
            int64_t offset = kx * n.dilations[2] - n.low[2];
            for (int64_t o = begin; o < end; ++o)
              sums[o - from] += tap * static_cast<Sum<T>>(source[offset + o * n.strides[2]]);
          }
        }
    for (int64_t o = from; o < to; ++o)
      row[o] = static_cast<T>(sums[o - from]);
  }

  Loops n;
};

template <typename T> class Transpose : public Kernel {
public:
  explicit Transpose(const ConvolutionShape &shape) : n(shape) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *out = static_cast<const T *>(pointers[0]), *kernel = static_cast<const T *>(pointers[1]);
    auto *data = static_cast<T *>(pointers[2]);
    parallelFor(parallel, n.batch * n.channels, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t image = plane / n.channels, channel = plane % n.channels;
        int64_t filter = n.firstFilter(channel);
        const T *first = out + (image * n.filters + filter) * n.volume(n.positions);
        const T *taps = kernel + (filter * n.depth + channel % n.depth) * n.volume(n.window);
        T *rows = data + plane * n.volume(n.spatial);
        for (int64_t z = 0; z < n.spatial[0]; ++z)
          for (int64_t y = 0; y < n.spatial[1]; ++y, rows += n.spatial[2])
            for (int64_t x = 0; x < n.spatial[2]; x += kTile)
              tile(first, taps, rows, z, y, x, std::min(x + kTile, n.spatial[2]));
      }
    });
    return {};
  }

private:
  /// The window whose tap k reads position `at` along dimension i; false where none does.
  bool readBy(int i, int64_t at, int64_t k, int64_t &o) const {
    int64_t distance = at + n.low[i] - k * n.dilations[i];
    o = distance / n.strides[i];
    return distance >= 0 && distance % n.strides[i] == 0 && o < n.positions[i];
  }

  void tile(const T *out, const T *taps, T *row, int64_t z, int64_t y, int64_t from, int64_t to) const {
    Sum<T> sums[kTile] = {};
    for (int64_t f = 0; f < n.filters / n.groups; ++f) {
      const T *tap = taps + f * n.depth * n.volume(n.window);
      for (int64_t kz = 0; kz < n.window[0]; ++kz)
        for (int64_t ky = 0; ky < n.window[1]; ++ky, tap += n.window[2]) {
          int64_t oz, oy;
          if (!readBy(0, z, kz, oz) || !readBy(1, y, ky, oy))
            continue;
          const T *source = out + ((f * n.positions[0] + oz) * n.positions[1] + oy) * n.positions[2];
          for (int64_t kx = 0; kx < n.window[2]; ++kx) {
            int64_t begin, end;
            n.windows(kx, from, to, begin, end);
            auto factor = static_cast<Sum<T>>(tap[kx]);
            int64_t offset = kx * n.dilations[2] - n.low[2] - from;
            for (int64_t o = begin; o < end; ++o)
              sums[offset + o * n.strides[2]] += factor * static_cast<Sum<T>>(source[o]);
          }
        }
    }
    for (int64_t x = from; x < to; ++x)
      row[x] = static_cast<T>(sums[x - from]);
  }

  Loops n;
};

template <typename T> class ForKernel : public Kernel {
public:
  explicit ForKernel(const ConvolutionShape &shape) : n(shape) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *data = static_cast<const T *>(pointers[0]), *out = static_cast<const T *>(pointers[1]);
    auto *kernel = static_cast<T *>(pointers[2]);
    parallelFor(parallel, n.filters * n.depth, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t filter = plane / n.depth, channel = n.firstChannel(filter) + plane % n.depth;
        T *tap = kernel + plane * n.volume(n.window);
        for (int64_t kz = 0; kz < n.window[0]; ++kz)
          for (int64_t ky = 0; ky < n.window[1]; ++ky)
            for (int64_t kx = 0; kx < n.window[2]; ++kx)
              *tap++ = sum(data + channel * n.volume(n.spatial), out + filter * n.volume(n.positions), kz, ky,
                           kx);
      }
    });
    return {};
  }

private:
  T sum(const T *data, const T *out, int64_t kz, int64_t ky, int64_t kx) const {
    constexpr int64_t kLanes = 8;
    Sum<T> lanes[kLanes] = {};
    int64_t begin, end, offset = kx * n.dilations[2] - n.low[2];
    n.windows(kx, 0, n.spatial[2], begin, end);
    for (int64_t image = 0; image < n.batch; ++image) {
      for (int64_t z = 0; z < n.positions[0]; ++z)
        for (int64_t y = 0; y < n.positions[1]; ++y) {
          int64_t dz, dy;
          if (!n.reads(0, z, kz, dz) || !n.reads(1, y, ky, dy))
            continue;
          const T *row = out + (z * n.positions[1] + y) * n.positions[2];
          const T *source = data + (dz * n.spatial[1] + dy) * n.spatial[2];
          for (int64_t o = begin; o < end; o += kLanes)
            for (int64_t lane = 0; lane < std::min(kLanes, end - o); ++lane)
              lanes[lane] += static_cast<Sum<T>>(row[o + lane]) *
                             static_cast<Sum<T>>(source[offset + (o + lane) * n.strides[2]]);
        }
      data += n.channels * n.volume(n.spatial);
      out += n.filters * n.volume(n.positions);
    }
    Sum<T> total = 0;
    for (Sum<T> lane : lanes)
      total += lane;
    return static_cast<T>(total);
  }

  Loops n;
};

template <template <typename> typename Made> std::unique_ptr<Kernel> make(const ConvolutionShape &shape) {
  switch (static_cast<Element>(shape.element)) {
  case Element::F64:
    return std::make_unique<Made<double>>(shape);
  case Element::F16:
    return std::make_unique<Made<Float16>>(shape);
  case Element::BF16:
    return std::make_unique<Made<BFloat16>>(shape);
  default:
    return std::make_unique<Made<float>>(shape);
  }
}

} // namespace

std::unique_ptr<Kernel> kernels::convolutionLoops(const ConvolutionShape &shape) { return make<Forward>(shape); }

std::unique_ptr<Kernel> kernels::convolutionTransposeLoops(const ConvolutionShape &shape) {
  return make<Transpose>(shape);
}

std::unique_ptr<Kernel> kernels::convolutionKernelLoops(const ConvolutionShape &shape) {
  return make<ForKernel>(shape);
}
