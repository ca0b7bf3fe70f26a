//===- MemoryReport.h - What a plan takes and what it holds ---------------===//
#ifndef ZERO_ANALYSIS_MEMORYREPORT_H
#define ZERO_ANALYSIS_MEMORYREPORT_H

#include "dialects/Plan/PlanOps.h"
#include "zero/Analysis/ModelStates.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <array>

namespace zero {

inline constexpr unsigned kContentClasses = plan::getMaxEnumValForContentClass() + 1;
using BytesByClass = std::array<int64_t, kContentClasses>;

/// One arena at its peak point: the command during which most is alive.
struct ArenaReport {
  plan::MemoryKind kind;
  int64_t arenaBytes = 0;
  /// What is alive at the peak, by content class; sums to `arenaBytes`. Class `padding` is what holds no
  /// element: padding of buckets, alignment, and gaps that nothing alive fits in.
  BytesByClass bytes = {};
  /// Where the peak is; no section where nothing but states is there.
  std::string section;
  int64_t command = -1;
  /// Bytes of all buffers of the arena; without reuse it would be that large.
  int64_t declaredBytes = 0;
};

/// One report for each arena, in order. Offsets must be assigned.
llvm::SmallVector<ArenaReport> computeArenaReports(mlir::ModuleOp module);
/// Declared bytes of the states of trained parameters; padding of buckets counts, frozen weights do not.
ModelStates computeStateReport(mlir::ModuleOp module);

/// The table of zero-compile: parameters, peak bytes per rank by memory kind and content class, bytes sent
/// per rank and step.
void printReport(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace zero

#endif
