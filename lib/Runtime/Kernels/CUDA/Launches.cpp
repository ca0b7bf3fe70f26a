//===- Launches.cpp - From a kernel's name to its launches on CUDA --------===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "zero/Runtime/Kernels/ConvolutionSizes.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

struct Planned {
  std::string_view name;
  LaunchPlanner *plan;
};
constexpr Planned kPlanners[] = {
    {"matmul", planMatmul},          {"fused_matmul", planFusedMatmul},
    {"strided_copy", planStridedCopy},
    {"fill", planFill},              {"gather", planGather},
    {"scatter_add", planScatterAdd}, {"scatter", planScatter},
    {"top_k", planTopK},             {"cumsum", planCumSum},
    {"attention", planAttention},    {"attention_grad", planAttentionGrad},
    {"conv", planConv},              {"conv_transpose", planConvTranspose},
    {"max_pool", planMaxPool},       {"conv_weight_grad", planConvWeightGrad},
    {"sum_pool", planSumPool},       {"sum_squares", planSumSquares},
    {"norm", planNorm},
};

/// Of a launch, on any device.
constexpr uint32_t kMostBlocks = 0x7fffffff;

#define ZERO_KERNEL(name, factory, reads, writes) +1
constexpr size_t kKernels = 0
#include "zero/Runtime/Kernels/KernelTable.inc"
    ;
static_assert(std::size(kPlanners) == kKernels, "a planner for each kernel of the table");

} // namespace

Expected<std::vector<CudaLaunch>> zero::planCudaLaunches(std::string_view name, std::span<const int64_t> integers,
                                                         std::span<const double> reals, const CudaOptions &options) {
  for (const Planned &planned : kPlanners)
    if (planned.name == name) {
      std::string text(name);
      Parameters parameters(text.c_str(), integers);
      ZERO_ASSIGN_OR_RETURN(std::vector<CudaLaunch> launches, planned.plan(parameters, reals, options));
      for (const CudaLaunch &launch : launches)
        if (launch.grid[0] > kMostBlocks)
          return Status::badInput("kernel '" + text + "' takes more than " + std::to_string(kMostBlocks) + " blocks, which is the most of a launch");
      return launches;
    }
  return Status::badInput("unknown kernel '" + std::string(name) + "'");
}

bool zero::isCudaLibraryProduct(std::string_view name, std::span<const int64_t> integers) {
  return (name == "matmul" || name == "fused_matmul") && integers.size() > 4 && integers[1] > 0 && integers[2] > 0 && integers[3] > 0 && integers[4] > 0;
}

bool zero::isCudaLibraryConvolution(std::string_view name, std::span<const int64_t> integers, const CudaOptions &options) {
  if (!options.cudnnConvolutions || (name != "conv" && name != "conv_transpose" && name != "conv_weight_grad"))
    return false;
  const ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  return !shape.positions.empty() && shape.groups > 0 && shape.dataElements() > 0 && shape.kernelElements() > 0 && shape.outElements() > 0;
}

uint64_t zero::cudaWorkspaceBytes(std::string_view name, std::span<const int64_t> integers, const CudaOptions &options) {
  if (isCudaLibraryProduct(name, integers))
    return options.workspaceBytes;
  if (name == "attention_grad")
    return attentionGradWorkspaceBytes(integers);
  const uint64_t own = name == "conv_weight_grad" ? convWeightGradWorkspaceBytes(integers) : 0;
  return isCudaLibraryConvolution(name, integers, options) ? std::max(own, options.workspaceBytes) : own;
}

Status zero::toStatus(const CudaStatus &status) {
  constexpr const char *kernels[] = {"gather", "scatter_add", "scatter"};
  if (status.kernel == 0)
    return {};
  if (status.kernel > std::size(kernels))
    return Status::programFailed("the device's status names kernel " + std::to_string(status.kernel) + ", of which there is none");
  return Status::badInput(std::string(kernels[status.kernel - 1]) + ": index " + std::to_string(status.index) + " at position " +
                          std::to_string(status.position) + " is outside [0, " + std::to_string(status.size) + ")");
}
