//===- GroupPreparation.h - Brings a function into the form that groups take ---===//
#ifndef ZERO_LIB_TRANSFORMS_NN_GROUPPREPARATION_H
#define ZERO_LIB_TRANSFORMS_NN_GROUPPREPARATION_H

#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zero {

/// A cast of f16 or bf16 to f32.
bool isWidening(mlir::Operation *op);

/// Ops that may be copied into any number of groups: broadcasts, iotas, splats, reshapes, and widenings, so that between groups
/// lie 16 bits.
bool isLight(mlir::Operation *op);

/// A splat as the broadcast of a scalar: kernels hold constants, they write and reduce what they compute.
mlir::Value broadcastSplat(mlir::OpBuilder &builder, nn::ConstantOp op);

/// Whether a group may hold `user`.
bool mayReadInside(mlir::Operation *user);

void eraseDeadOps(mlir::func::FuncOp function);

/// No dead ops; every reduction along one run of neighbouring axes and not of a constant; every broadcast
/// with light operands of its own; every widening read inside groups only, or by one op outside.
void prepareForGroups(mlir::func::FuncOp function);

} // namespace zero

#endif
