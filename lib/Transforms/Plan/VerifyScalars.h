//===- VerifyScalars.h - The part of plan-verify about what scalars are made of ===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYSCALARS_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYSCALARS_H

#include "mlir/IR/BuiltinOps.h"

namespace zero {

/// Scalars of four bytes are alike to everything else: that step results and the scalars of updates are made, in section
/// `update`, of what they are called after. Records must have been verified.
mlir::LogicalResult verifyPlanScalars(mlir::ModuleOp module);

} // namespace zero

#endif
