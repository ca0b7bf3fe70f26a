//===- EmitKernels.h - Writes all kernels of a plan as loops --------------===//
#ifndef ZERO_LIB_CODEGEN_EMITKERNELS_H
#define ZERO_LIB_CODEGEN_EMITKERNELS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "zero/Runtime/Base/Status.h"

namespace zero {

/// Writes a function for each `plan.kernel` of `plan` at the builder's insertion point.
Status emitKernels(mlir::ModuleOp plan, mlir::OpBuilder &builder);

} // namespace zero

#endif
