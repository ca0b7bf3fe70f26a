//===- CudnnGraph.h - A convolution as cuDNN describes it -----------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNGRAPH_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNGRAPH_H

#include "lib/Runtime/Kernels/CUDA/CudnnDescriptor.h"
#include "zero/Runtime/Kernels/ConvolutionSizes.h"
#include <array>

namespace zero::kernels {

/// The names that the graph's tensors have in variant packs, in the order of `alignments`.
inline constexpr std::array<int64_t, 3> kCudnnTensors = {1, 2, 3}; // data, kernel, out

/// The operation graph of one convolution: conv is its forward pass, conv_transpose its gradient by data, conv_weight_grad that by the
/// kernel. A convolution along one dimension is one along two, of which the first is 1. Sums are kept in float32 (f64: in double).
class CudnnGraph {
public:
  /// `alignments`: of the tensors' addresses, in bytes. `handle`: null where the graph is of a device that is not here.
  CudnnGraph(const CudnnTable &table, const ConvolutionShape &shape, ConvolutionResult result, const std::array<int64_t, 3> &alignments,
             cudnnHandle_t handle);

  /// Whether it is whole. Where it is not: `refusal`, of what cuDNN does not do, else `status`.
  bool ok() const { return !culprit; }
  const std::string &refusal() const { return culprit->isUnsupported() ? culprit->words() : kNone; }
  Status status() const { return culprit ? culprit->status() : Status(); }
  const CudnnDescriptor &get() const { return graph; }

private:
  static inline const std::string kNone;
  bool finish(CudnnDescriptor &descriptor);

  CudnnDescriptor data, kernel, out, convolution, operation, graph;
  const CudnnDescriptor *culprit = nullptr; ///< the first that failed
};

} // namespace zero::kernels

#endif
