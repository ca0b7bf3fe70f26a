//===- CommunicationReport.h - What a plan sends --------------------------===//
#ifndef ZERO_ANALYSIS_COMMUNICATIONREPORT_H
#define ZERO_ANALYSIS_COMMUNICATIONREPORT_H

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace zero {

/// Collectives of one kind and label (a bucket, or what a control sum is of) of a section.
struct CollectiveTraffic {
  plan::CollectiveKind kind;
  std::string label, section;
  int64_t perStep = 0;      ///< how often a step runs them
  int64_t bytesPerStep = 0; ///< what each rank sends in these
};

/// Bytes that each rank sends in one step.
struct CommunicationReport {
  int64_t allGather = 0, reduceScatter = 0, control = 0;
  llvm::SmallVector<CollectiveTraffic> collectives;
  int64_t total() const { return allGather + reduceScatter + control; }
};

/// Sections times how often a step runs them.
CommunicationReport computeCommunicationReport(mlir::ModuleOp module);

/// Micro-batches of a step and rank: `gradient_accumulation_steps` of `zero.config`, or 1.
int64_t getAccumulationSteps(mlir::ModuleOp module);
/// An integer of `zero.config` by its dotted path, or `otherwise`.
int64_t getConfigInteger(mlir::ModuleOp module, llvm::StringRef path, int64_t otherwise);
/// The same of a number that may be a fraction.
double getConfigNumber(mlir::ModuleOp module, llvm::StringRef path, double otherwise);

} // namespace zero

#endif
