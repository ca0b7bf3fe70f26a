//===- FusedMatmul.cpp - Products with what follows them, on CPUs ---------===//
//
// There are none: nn-fuse-epilogues makes them for GPUs alone.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/Factories.h"

using namespace zero;

Expected<std::unique_ptr<Kernel>> kernels::makeFusedMatmul(std::span<const int64_t>, std::span<const double>, const KernelOptions &) {
  return Status::badInput("kernel 'fused_matmul': is of programs for GPUs");
}
