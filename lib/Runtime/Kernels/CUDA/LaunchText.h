//===- LaunchText.h - Writes launches of the library's CUDA kernels -------===//
//
// Standard library only.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CUDA_LAUNCHTEXT_H
#define ZERO_LIB_RUNTIME_KERNELS_CUDA_LAUNCHTEXT_H

#include "lib/Runtime/Kernels/Parameters.h"
#include "zero/Runtime/Kernels/CudaKernels.h"

namespace zero::kernels {

using Launches = Expected<std::vector<CudaLaunch>>;

/// The type in the kernels' texts of an ElementType that has one; i1 is a byte.
const char *cudaType(int64_t element);
/// The unsigned integer of 1, 2, 4 or 8 bytes, or uint4 of 16.
const char *cudaUnit(int64_t bytes);

/// One launch before its symbol is known: the symbol is made of the text.
struct LaunchText {
  std::string name; ///< of the kernel
  std::vector<std::string_view> sources;
  /// Types of the parameters p0, p1, ... and the pointers of the dispatch that they are.
  std::vector<std::pair<std::string, uint32_t>> pointers = {};
  /// Also parameters `status` and `command`.
  bool hasStatus = false;
  /// What stands before the kernel, in a namespace of its own, and in it.
  std::string declarations = {}, body = {};
  uint64_t blocks = 1;
  uint32_t threads = 256, threadRows = 1, sharedBytes = 0;

  CudaLaunch finish() const;
};

/// Blocks of a loop over `items` whose threads take every so many: enough for any device.
uint64_t loopBlocks(uint64_t items, uint64_t threads = 256);

/// The declarations of struct Shape: "static constexpr i64 NAME = VALUE;" each.
class ShapeText {
public:
  void add(const char *name, int64_t value);
  void add(const char *name, bool value);
  void add(const char *name, float value);
  void add(const std::string &line) { text += line + " "; }
  std::string finish() const { return "struct Shape { " + text + "};"; }

private:
  std::string text;
};

/// One function of (integers, reals) for each kernel of the table; `options` as planCudaLaunches.
using LaunchPlanner = Launches(Parameters &parameters, std::span<const double> reals, const CudaOptions &options);
LaunchPlanner planMatmul, planFusedMatmul, planStridedCopy, planFill, planGather, planScatterAdd, planScatter, planTopK, planCumSum, planAttention,
    planAttentionGrad, planConv, planConvTranspose, planConvWeightGrad, planMaxPool, planSumPool, planSumSquares, planNorm;

/// Bytes of their workspaces; the integers fit.
uint64_t attentionGradWorkspaceBytes(std::span<const int64_t> integers);
uint64_t convWeightGradWorkspaceBytes(std::span<const int64_t> integers);

} // namespace zero::kernels

#endif
