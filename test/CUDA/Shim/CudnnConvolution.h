//===- CudnnConvolution.h - The convolutions of the simulated cuDNN -------===//
#ifndef ZERO_TEST_CUDA_SHIM_CUDNNCONVOLUTION_H
#define ZERO_TEST_CUDA_SHIM_CUDNNCONVOLUTION_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cudnn_graph.h>
#include <string>

namespace zero::shim {

enum class ConvolutionKind { Forward, Data, Filter };

/// Of three dimensions; those that there are not count 1, or 0 for paddings.
struct ConvolutionProblem {
  using Sizes = std::array<int64_t, 3>;
  ConvolutionKind kind = ConvolutionKind::Forward;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t batch = 0, channels = 0, filters = 0, groups = 1;
  Sizes spatial = {1, 1, 1}, window = {1, 1, 1}, positions = {1, 1, 1}, strides = {1, 1, 1}, dilations = {1, 1, 1}, low = {}, high = {};

  static int64_t product(const Sizes &sizes) { return sizes[0] * sizes[1] * sizes[2]; }
  int64_t dataElements() const { return batch * channels * product(spatial); }
  int64_t kernelElements() const { return filters * (channels / groups) * product(window); }
  int64_t outElements() const { return batch * filters * product(positions); }
  uint64_t elementBytes() const { return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2; }
};

/// What an engine does to numbers besides adding products in order.
enum class Arithmetic {
  Plain,
  Tf32,       ///< operands lose all but ten bits behind the first
  Narrow,     ///< operands are rounded to bf16
  AnyOrder,   ///< partial sums are added in an order that ZERO_SHIM_TIMING decides
  RoundedSums, ///< partial sums are rounded to the type of the result
  Transformed, ///< as a transform would: results are off by some 2^-9
};

/// Sums in float32 (f64: in double), rounded once. Pointers as the host can address them; which one is written, `kind` says.
void convolve(const ConvolutionProblem &problem, Arithmetic arithmetic, std::byte *data, std::byte *kernel, std::byte *out);

} // namespace zero::shim

#endif
