//===- CudaKernels.cpp - Library kernels of a build without CUDA ----------===//
#include "zero/Runtime/Kernels/CudaKernels.h"

using namespace zero;

Expected<std::unique_ptr<CudaKernel>> zero::prepareCudaKernel(std::string_view name, std::span<const int64_t>, std::span<const double>,
                                                              std::span<void *const>, const CudaOptions &, const CudaKernelPlace &) {
  return Status::badInput("kernel '" + std::string(name) + "': this zero-run was built without CUDA");
}

Expected<std::string> zero::findCudnn() { return Status::badInput("this zero-run was built without CUDA"); }
