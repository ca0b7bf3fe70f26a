//===- Shapes.h - Comparing the shapes of nn tensors ----------------------===//
//
// Before nn-bind-batch a dimension may be `?`; such a dimension agrees with every size.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECTS_NN_SHAPES_H
#define ZERO_DIALECTS_NN_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace zero::nn {

using Shape = llvm::SmallVector<int64_t>;

/// `[8, ?, 64]`.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// True where the sizes are equal or one of them is not known yet.
bool sizesAgree(int64_t a, int64_t b);
bool shapesAgree(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Error `WHAT has shape [..] but SOURCE give(s) [..]` unless they agree.
llvm::LogicalResult verifyShape(mlir::Operation *op, const llvm::Twine &what, llvm::ArrayRef<int64_t> actual,
                                const llvm::Twine &source, llvm::ArrayRef<int64_t> expected);

/// Error `WHAT has element type X but SOURCE has Y` unless they are equal.
llvm::LogicalResult verifyElementType(mlir::Operation *op, const llvm::Twine &what, mlir::Type actual,
                                      const llvm::Twine &source, mlir::Type expected);

/// Error unless 0 <= axis < rank.
llvm::LogicalResult verifyAxis(mlir::Operation *op, int64_t axis, int64_t rank);

/// Error unless `values` (called `name`) increase strictly and lie in [0, bound).
llvm::LogicalResult verifyIncreasing(mlir::Operation *op, llvm::StringRef name,
                                     llvm::ArrayRef<int64_t> values, int64_t bound);

/// The shape of `data` with dimension `axis` replaced by `indices`: what a gather gives.
Shape gatherShape(llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> indices, int64_t axis);

/// `shape` without the dimensions `axes`, which increase.
Shape dropAxes(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes);

} // namespace zero::nn

#endif
