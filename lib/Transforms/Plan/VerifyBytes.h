//===- VerifyBytes.h - The part of plan-verify about bytes ----------------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYBYTES_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYBYTES_H

#include "zero/Analysis/PlanMemory.h"

namespace zero {

/// Order and contents of every byte, over all sections as the executor runs them: micro_first, micro_next any number of
/// times, update, and again; predict at any time between steps. The records must hold (verifyRecords).
mlir::LogicalResult verifyBytes(mlir::ModuleOp module);

} // namespace zero

#endif
