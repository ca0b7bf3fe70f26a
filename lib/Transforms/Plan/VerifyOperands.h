//===- VerifyOperands.h - The part of plan-verify about one command -------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYOPERANDS_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYOPERANDS_H

#include "zero/Analysis/PlanMemory.h"

namespace zero {

/// No command writes over what it reads or writes itself, but where its kernel or collective can compute in place. The records must
/// hold (verifyRecords).
mlir::LogicalResult verifyOperands(mlir::ModuleOp module);

} // namespace zero

#endif
