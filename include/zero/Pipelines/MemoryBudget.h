//===- MemoryBudget.h - Whether a plan fits, and what would ---------------===//
#ifndef ZERO_PIPELINES_MEMORYBUDGET_H
#define ZERO_PIPELINES_MEMORYBUDGET_H

#include "zero/Pipelines/Pipelines.h"
#include "llvm/Support/raw_ostream.h"

namespace zero {

/// Bytes of all device arenas of a module of phase plan: what each rank takes.
int64_t getDeviceBytes(mlir::ModuleOp plan);

/// A setting that was compiled to see what it takes.
struct BudgetTrial {
  std::string setting; ///< what differs, as the user would write it
  /// Device bytes of each rank; none where it cannot be compiled, which `whyNot` then explains.
  std::optional<int64_t> bytes;
  std::string whyNot;
};

/// Compiles changes of the configuration of `plan` from `source`, the module before its first phase: higher stages, smaller micro-batches with
/// more of them, more ranks, no prefetch, bf16; where none of these fits, stage 3 with several of them. At most 18 compilations.
std::vector<BudgetTrial> tryToFit(mlir::ModuleOp plan, mlir::ModuleOp source, const PipelineRequest &request, int64_t budgetBytes);

/// Whether the plan takes at most `budgetBytes`. Where it takes more, says so, what takes most at the peak, and which of the settings that
/// it then tries fit. `source` is null where the module had left its first phase behind: then nothing can be tried.
mlir::LogicalResult checkMemoryBudget(mlir::ModuleOp plan, mlir::ModuleOp source, const PipelineRequest &request, int64_t budgetBytes,
                                      llvm::raw_ostream &os);

} // namespace zero

#endif
