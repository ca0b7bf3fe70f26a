//===- Interpreter.h - The meaning of every nn op on host tensors ---------===//
//
// The oracle of kernel tests and the evaluator of nn-fold-constants: by definition, never fast. Float
// elements are computed in double, composites as a whole, and each result is rounded once to its element
// type; no decomposition is used. What has no defined value is an error: an index or label out of range, an
// integer division by zero, a float that the integer type cannot hold.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_REFERENCE_INTERPRETER_H
#define ZERO_REFERENCE_INTERPRETER_H

#include "zero/Reference/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"

namespace zero::reference {

/// Elements of the largest tensor that is evaluated where the caller gives no limit of its own.
inline constexpr int64_t kDefaultMaxElements = int64_t(1) << 24;

/// True for an nn op whose operands and results are static tensors of at most `maxElements` elements each.
bool isEvaluable(mlir::Operation *op, int64_t maxElements = kDefaultMaxElements);

/// The results of one nn op. Errors are diagnostics at the op.
llvm::FailureOr<llvm::SmallVector<HostTensor>>
evaluate(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands, int64_t maxElements = kDefaultMaxElements);

/// The returned values of a function of nn ops.
llvm::FailureOr<llvm::SmallVector<HostTensor>> evaluateFunction(mlir::func::FuncOp function,
                                                                llvm::ArrayRef<HostTensor> arguments,
                                                                int64_t maxElements = kDefaultMaxElements);

} // namespace zero::reference

#endif
