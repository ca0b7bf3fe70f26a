//===- VerifyConfig.h - The part of plan-verify about the configuration ---===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_VERIFYCONFIG_H
#define ZERO_LIB_TRANSFORMS_PLAN_VERIFYCONFIG_H

#include "mlir/IR/BuiltinOps.h"

namespace zero {

/// What the recorded configuration says is what the records do: ranks, micro-batches, their size, learning rate, decay rates. What
/// nothing but the configuration says (how many micro-batches a step has, where it has several) nothing can be held against.
mlir::LogicalResult verifyConfig(mlir::ModuleOp module);

} // namespace zero

#endif
