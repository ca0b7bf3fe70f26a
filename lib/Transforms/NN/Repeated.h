//===- Repeated.h - Values that repeat a smaller one over a wide tensor ---===//
#ifndef ZERO_LIB_TRANSFORMS_NN_REPEATED_H
#define ZERO_LIB_TRANSFORMS_NN_REPEATED_H

#include "dialects/NN/NNOps.h"

namespace zero {

/// A wide tensor whose element depends on some of its dimensions only: dimension i of `value` runs along
/// dimension dims[i] of the wide one; -1 where its size is 1.
struct Repeated {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;

  /// The wide tensor itself.
  explicit Repeated(mlir::Value wide);
  Repeated(mlir::Value value, llvm::ArrayRef<int64_t> dims) : value(value), dims(dims) {}

  /// Without the broadcasts around, and the reshapes that put dimensions of size 1 in or take them out.
  Repeated stripped() const;
  /// The operand of an elementwise op, repeated in the same way.
  Repeated operand(unsigned index) const {
    return {value.getDefiningOp()->getOperand(index), dims};
  }
  /// Whether the dimensions of more than one element are, in order, those of `wide` among `axes`, whole.
  bool runsAlong(llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<int64_t> wide) const;
};

} // namespace zero

#endif
