//===- CudnnConvolution.cpp - The convolutions of the simulated cuDNN -----===//
#include "test/CUDA/Shim/CudnnConvolution.h"
#include "test/CUDA/Shim/SumOrder.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <algorithm>
#include <cstring>

namespace zero::shim {
namespace {

float toTf32(float number) {
  auto word = std::bit_cast<uint32_t>(number);
  return (word & 0x7f800000) == 0x7f800000 ? number : std::bit_cast<float>((word + 0xfff + (word >> 13 & 1)) & ~uint32_t{0x1fff});
}

template <typename Number> Number load(cudnnDataType_t type, const std::byte *at) {
  if constexpr (sizeof(Number) == 4)
    if (type != CUDNN_DATA_FLOAT) {
      uint16_t bits;
      std::memcpy(&bits, at, 2);
      return type == CUDNN_DATA_HALF ? widenFloat16(bits) : widenBFloat16(bits);
    }
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}
template <typename Number> void store(cudnnDataType_t type, std::byte *at, Number number) {
  if constexpr (sizeof(Number) == 4)
    if (type != CUDNN_DATA_FLOAT) {
      uint16_t bits = type == CUDNN_DATA_HALF ? roundToFloat16(number) : roundToBFloat16(number);
      std::memcpy(at, &bits, 2);
      return;
    }
  std::memcpy(at, &number, sizeof number);
}

template <typename Number> class Convolution {
public:
  using Numbers = std::vector<Number>;
  Convolution(const ConvolutionProblem &problem, Arithmetic arithmetic) : p(problem), arithmetic(arithmetic) {}

  void run(std::byte *data, std::byte *kernel, std::byte *out) {
    switch (p.kind) {
    case ConvolutionKind::Forward:
      x = read(data, p.dataElements()), w = read(kernel, p.kernelElements());
      return write(out, p.outElements(), p.channels / p.groups);
    case ConvolutionKind::Data:
      y = read(out, p.outElements()), w = read(kernel, p.kernelElements());
      return write(data, p.dataElements(), p.filters / p.groups);
    case ConvolutionKind::Filter:
      x = read(data, p.dataElements()), y = read(out, p.outElements());
      return write(kernel, p.kernelElements(), p.batch);
    }
  }

private:
  Numbers read(const std::byte *at, int64_t count) const {
    Numbers numbers(static_cast<size_t>(count));
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = load<Number>(p.type, at + i * p.elementBytes());
      if constexpr (sizeof(Number) == 4)
        numbers[i] = arithmetic == Arithmetic::Tf32     ? toTf32(numbers[i])
                     : arithmetic == Arithmetic::Narrow ? widenBFloat16(roundToBFloat16(numbers[i]))
                                                        : numbers[i];
    }
    return numbers;
  }

  /// The sum over `terms` channels, filters or images, in parts where the arithmetic says so.
  void write(std::byte *at, int64_t count, int64_t terms) {
    const bool splits = arithmetic == Arithmetic::AnyOrder || arithmetic == Arithmetic::RoundedSums;
    const uint32_t split = splits ? 4 : 1;
    Numbers total(static_cast<size_t>(count));
    for (uint32_t part : partsOf(split)) {
      sums.assign(total.size(), Number(0));
      add(terms * part / split, terms * (part + 1) / split);
      for (size_t i = 0; i < total.size(); ++i) {
        std::byte bits[8];
        store(p.type, bits, sums[i]);
        total[i] += arithmetic == Arithmetic::RoundedSums ? load<Number>(p.type, bits) : sums[i];
      }
    }
    for (size_t i = 0; i < total.size(); ++i)
      store(p.type, at + i * p.elementBytes(), arithmetic == Arithmetic::Transformed ? total[i] * Number(1 + 0x1p-9) : total[i]);
  }

  /// Products of the terms [begin, end), in the order of terms and taps.
  void add(int64_t begin, int64_t end) {
    const int64_t depth = p.channels / p.groups, fan = p.filters / p.groups;
    auto range = [&](ConvolutionKind kind, int64_t size) { return p.kind == kind ? std::pair(begin, end) : std::pair(int64_t{0}, size); };
    const auto [firstImage, lastImage] = range(ConvolutionKind::Filter, p.batch);
    const auto [firstChannel, lastChannel] = range(ConvolutionKind::Forward, depth);
    const auto [firstFilter, lastFilter] = range(ConvolutionKind::Data, fan);
    for (int64_t image = firstImage; image < lastImage; ++image)
      for (int64_t group = 0; group < p.groups; ++group)
        for (int64_t f = firstFilter; f < lastFilter; ++f)
          for (int64_t c = firstChannel; c < lastChannel; ++c)
            addPlane((image * p.channels + group * depth + c) * ConvolutionProblem::product(p.spatial), ((group * fan + f) * depth + c) * ConvolutionProblem::product(p.window),
                     (image * p.filters + group * fan + f) * ConvolutionProblem::product(p.positions));
  }

  /// One channel of an image with one filter of it; where the three begin.
  void addPlane(int64_t data, int64_t kernel, int64_t out) {
    int64_t tap = kernel;
    for (int64_t kz = 0; kz < p.window[0]; ++kz)
      for (int64_t ky = 0; ky < p.window[1]; ++ky)
        for (int64_t kx = 0; kx < p.window[2]; ++kx, ++tap)
          for (int64_t oz = 0; oz < p.positions[0]; ++oz) {
            const int64_t z = at(0, oz, kz);
            if (z < 0 || z >= p.spatial[0])
              continue;
            for (int64_t oy = 0; oy < p.positions[1]; ++oy) {
              const int64_t row = at(1, oy, ky);
              if (row < 0 || row >= p.spatial[1])
                continue;
              addRow(data + (z * p.spatial[1] + row) * p.spatial[2], tap, out + (oz * p.positions[1] + oy) * p.positions[2], kx);
            }
          }
  }

  void addRow(int64_t data, int64_t tap, int64_t out, int64_t kx) {
    const int64_t stride = p.strides[2], shift = kx * p.dilations[2] - p.low[2];
    const int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    const int64_t last = shift >= p.spatial[2] ? 0 : std::min(p.positions[2], (p.spatial[2] - 1 - shift) / stride + 1);
    Number *sum = sums.data();
    switch (p.kind) {
    case ConvolutionKind::Forward:
      for (int64_t o = first; o < last; ++o)
        sum[out + o] += x[static_cast<size_t>(data + o * stride + shift)] * w[static_cast<size_t>(tap)];
      return;
    case ConvolutionKind::Data:
      for (int64_t o = first; o < last; ++o)
        sum[data + o * stride + shift] += y[static_cast<size_t>(out + o)] * w[static_cast<size_t>(tap)];
      return;
    case ConvolutionKind::Filter:
      for (int64_t o = first; o < last; ++o)
        sum[tap] += x[static_cast<size_t>(data + o * stride + shift)] * y[static_cast<size_t>(out + o)];
      return;
    }
  }

  int64_t at(size_t dimension, int64_t position, int64_t tap) const {
    return position * p.strides[dimension] + tap * p.dilations[dimension] - p.low[dimension];
  }

  const ConvolutionProblem &p;
  const Arithmetic arithmetic;
  Numbers x, w, y, sums;
};

} // namespace

void convolve(const ConvolutionProblem &problem, Arithmetic arithmetic, std::byte *data, std::byte *kernel, std::byte *out) {
  if (problem.type == CUDNN_DATA_DOUBLE)
    Convolution<double>(problem, arithmetic).run(data, kernel, out);
  else
    Convolution<float>(problem, arithmetic).run(data, kernel, out);
}

} // namespace zero::shim
