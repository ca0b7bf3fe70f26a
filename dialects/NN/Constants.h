//===- Constants.h - What the folders of nn ops may ask of constants ------===//
#ifndef ZERO_DIALECTS_NN_CONSTANTS_H
#define ZERO_DIALECTS_NN_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace zero::nn {

/// A folder makes a splat of any size and other constants up to this many elements; nn-fold-constants makes
/// larger ones.
inline constexpr int64_t kLargestFoldedConstant = 1024;

/// True for ui8 and i1; other integers are signed.
bool isUnsigned(mlir::Type element);

/// `attribute` as a constant whose elements a folder may read one by one: a splat or a small one; else null.
mlir::DenseElementsAttr asFoldable(mlir::Attribute attribute);

/// True where every element of the constant is this number; +0 and -0 are told apart.
bool isSplatOf(mlir::Attribute attribute, double value);

/// A constant of `type` with every element 0 or 1; null where the type is not static.
mlir::DenseElementsAttr splatOf(mlir::Type type, int64_t value);

/// The splat `value` (of any type) with another static type of the same elements; null where it is no splat.
mlir::DenseElementsAttr resizeSplat(mlir::Attribute attribute, mlir::RankedTensorType type);

} // namespace zero::nn

#endif
