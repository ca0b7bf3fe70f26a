//===- CudnnConvolution.h - Convolutions by cuDNN -------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNCONVOLUTION_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUDNNCONVOLUTION_H

#include "zero/Runtime/Kernels/CudaKernels.h"

namespace zero::kernels {

/// A convolution by cuDNN, or why it has no engine for it.
struct CudnnKernel {
  std::unique_ptr<CudaKernel> kernel;
  std::string refusal;
};

/// conv, conv_transpose and conv_weight_grad of KernelTable.inc, none of whose tensors is empty. `pointers`: reads, writes and the workspace.
/// An error is a fault of the library, or what would be one of ours.
Expected<CudnnKernel> prepareCudnnConvolution(std::string_view name, std::span<const int64_t> integers, std::span<void *const> pointers,
                                              const CudaOptions &options, StreamDevice &device);

} // namespace zero::kernels

#endif
