//===- CudaSchedule.h - How a generated kernel is spread over a GPU -------===//
//
// Which thread computes what is a function of the kernel's shape and element types alone, so that equal inputs give equal bits
// wherever they lie, and the plan can say how a kernel is launched before its code is there.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_CUDASCHEDULE_H
#define ZERO_ANALYSIS_CUDASCHEDULE_H

#include "dialects/Plan/PlanOps.h"
#include "zero/Analysis/KernelShape.h"

namespace zero {

/// Threads that run in step.
inline constexpr int64_t kWarpThreads = 32;

struct CudaSchedule {
  enum class Form {
    Points,  ///< a thread takes `vector` neighbours of the innermost dimension, then those a grid further on
    Rows,    ///< `lanes` threads share a row; up to a warp's, several rows share a block
    Columns, ///< `lanes` threads side by side take the columns of a tile, `groups` of them every so many rows
    Fill,    ///< neutral elements of reductions over nothing
  };
  Form form = Form::Points;
  int64_t blocks = 1, threads = kWarpThreads;
  int64_t sharedBytes = 0; ///< asked for by the launch
  int64_t vector = 1;      ///< neighbouring elements that a thread takes at once
  int64_t lanes = 1, groups = 1;

  /// Columns of one tile.
  int64_t getTileColumns() const { return lanes * vector; }
  plan::LaunchAttr getLaunch(mlir::MLIRContext *context) const;
};

/// The schedule of a function in primitive ops (flattenKernel) of that shape.
CudaSchedule computeCudaSchedule(mlir::func::FuncOp flat, const KernelShape &shape);

/// How the kernel of a function that the generator supports is launched.
plan::LaunchAttr getCudaLaunch(mlir::func::FuncOp function);

} // namespace zero

#endif
