//===- VerifyRecords.h - The part of plan-verify about names and numbers --===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYRECORDS_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYRECORDS_H

#include "zero/Analysis/PlanMemory.h"

namespace zero {

/// Everything that one record says of another: names resolve, slices lie in buffers and buffers in arenas, for every rank;
/// events are recorded before they are waited for; collectives of a channel are numbered and sized alike on all ranks;
/// kernels get what they take.
mlir::LogicalResult verifyRecords(mlir::ModuleOp module);

} // namespace zero

#endif
