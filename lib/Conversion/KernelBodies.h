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
/// sum + value: the value is rounded to the sum's element first, where that is narrower.
mlir::func::FuncOp outlineAccumulate(mlir::Location loc, mlir::RankedTensorType sum, mlir::RankedTensorType value);
/// The same numbers in another element.
mlir::func::FuncOp outlineConvert(mlir::Location loc, mlir::RankedTensorType from, mlir::RankedTensorType to);

} // namespace zero::conversion

#endif
