//===- KernelBodies.h - Functions that generated kernels compute ----------===//
//
// Each makes a private function outside any module: operands are the kernel's reads, results its writes.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CONVERSION_KERNELBODIES_H
#define ZERO_LIB_CONVERSION_KERNELBODIES_H

#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zero::conversion {

/// The group's body.
mlir::func::FuncOp outlineGroup(nn::GroupOp group);
/// One op that stands outside groups.
mlir::func::FuncOp outlineOp(mlir::Operation *op);
/// The update's body over `elements` elements of each state; scalars stay 0-d.
mlir::func::FuncOp outlineUpdate(sharding::UpdateOp update, int64_t elements);
/// accumulator + value, both of `type`.
mlir::func::FuncOp outlineAccumulate(sharding::AccumulateOp accumulate, mlir::RankedTensorType type);

} // namespace zero::conversion

#endif
