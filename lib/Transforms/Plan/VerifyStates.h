//===- VerifyStates.h - The part of plan-verify about which state is which ===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYSTATES_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYSTATES_H

#include "mlir/IR/BuiltinOps.h"

namespace zero {

/// Bytes of equal size are alike to everything else: that an optimizer's kernel gets the states of one bucket, each in its
/// place, once; that collectives move the bucket that they name; that micro_next adds to what it finds, once; that a norm
/// counts every gradient. Records must have been verified.
mlir::LogicalResult verifyPlanStates(mlir::ModuleOp module);

} // namespace zero

#endif
