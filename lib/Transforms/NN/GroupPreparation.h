//===- GroupPreparation.h - Brings a function into the form that groups take ---===//
#ifndef ZERO_LIB_TRANSFORMS_NN_GROUPPREPARATION_H
#define ZERO_LIB_TRANSFORMS_NN_GROUPPREPARATION_H

#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zero {

/// Ops that may be copied into any number of groups: broadcasts, iotas, splats, reshapes.
bool isLight(mlir::Operation *op);

/// A splat as the broadcast of a scalar: kernels hold constants, they write and reduce what they compute.
mlir::Value broadcastSplat(mlir::OpBuilder &builder, nn::ConstantOp op);

void eraseDeadOps(mlir::func::FuncOp function);

/// No dead ops; every reduction along one run of neighbouring axes and not of a constant; every broadcast
/// with light operands of its own.
void prepareForGroups(mlir::func::FuncOp function);

} // namespace zero

#endif
