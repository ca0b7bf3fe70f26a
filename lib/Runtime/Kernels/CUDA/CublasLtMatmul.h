//===- CublasLtMatmul.h - Products by cuBLASLt ----------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_CUBLASLTMATMUL_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_CUBLASLTMATMUL_H

#include "zero/Runtime/Kernels/CudaKernels.h"

namespace zero::kernels {

/// matmul and fused_matmul of KernelTable.inc, none of whose sizes is 0. `pointers`: reads, writes and the workspace.
Expected<std::unique_ptr<CudaKernel>> prepareCublasLtMatmul(std::span<const int64_t> integers, std::span<void *const> pointers,
                                                            const CudaOptions &options, StreamDevice &device);

} // namespace zero::kernels

#endif
