//===- IndexForms.h - Tensors whose elements are affine in their index ----===//
//
// Positions, masks and the index arithmetic of exporters are tensors whose element at index (i0, i1, ...) is
// c + a0*i0 + a1*i1 + ... Following that form through views, gathers and arithmetic says what such a subgraph
// computes, for any size, without making its elements.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_INDEXFORMS_H
#define ZERO_LIB_TRANSFORMS_NN_INDEXFORMS_H

#include "dialects/NN/NNOps.h"

#include <optional>

namespace zero {

/// constant + sum over dimensions of coefficient x index. A dimension of size 1 has coefficient 0.
struct IndexForm {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> coefficients;

  bool isSplat() const {
    return llvm::all_of(coefficients, [](int64_t a) { return a == 0; });
  }
  /// The dimensions that the element depends on.
  llvm::SmallVector<int64_t> varyingDims() const;
  /// Smallest and largest element over a shape without zero sizes; none if they overflow.
  std::optional<std::pair<int64_t, int64_t>> range(llvm::ArrayRef<int64_t> shape) const;

  bool operator==(const IndexForm &other) const = default;
};

/// Answers for the values of one function and remembers them; nothing may be erased meanwhile.
class IndexForms {
public:
  /// The form of an integer, boolean or integral float tensor with a static shape; none if it has none or it
  /// is not known to be exact in the element type.
  const std::optional<IndexForm> &of(mlir::Value value);

  /// The form of component `index` of index tuples (the last dimension), over the other dimensions.
  std::optional<IndexForm> component(mlir::Value tuples, int64_t index);

  /// Builds constants, iotas and arithmetic that compute the form.
  static mlir::Value build(mlir::OpBuilder &builder, mlir::Location location, const IndexForm &form,
                           mlir::RankedTensorType type);

private:
  std::optional<IndexForm> compute(mlir::Operation *op);
  llvm::DenseMap<mlir::Value, std::optional<IndexForm>> forms;
};

} // namespace zero

#endif
