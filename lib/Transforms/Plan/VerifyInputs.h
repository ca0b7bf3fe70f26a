//===- VerifyInputs.h - The part of plan-verify about values at the door --===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYINPUTS_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYINPUTS_H

#include "mlir/IR/BuiltinOps.h"

namespace zero {

/// The reader lets no index in that a kernel has no row or class for, and takes as not to be counted what the kernels do not count.
mlir::LogicalResult verifyInputs(mlir::ModuleOp module);

} // namespace zero

#endif
