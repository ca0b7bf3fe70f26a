//===- Indexing.h - Walking the indices of a static shape -----------------===//
#ifndef ZERO_LIB_REFERENCE_INDEXING_H
#define ZERO_LIB_REFERENCE_INDEXING_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace zero::reference {

using Index = llvm::SmallVector<int64_t>;

/// Position of `index` in row-major order.
inline int64_t flatten(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  int64_t flat = 0;
  for (auto [position, size] : llvm::zip_equal(index, shape))
    flat = flat * size + position;
  return flat;
}

/// Calls visit(flat, index) for every index of `shape` in row-major order.
template <typename Visit> void forEachIndex(llvm::ArrayRef<int64_t> shape, Visit visit) {
  int64_t count = mlir::ShapedType::getNumElements(shape);
  Index index(shape.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(flat, llvm::ArrayRef<int64_t>(index));
    for (int64_t dim = shape.size() - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
  }
}

/// A shape seen as outer x size x inner around one axis.
struct AxisView {
  int64_t outer, size, inner;
  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis)
      : outer(mlir::ShapedType::getNumElements(shape.take_front(axis))), size(shape[axis]),
        inner(mlir::ShapedType::getNumElements(shape.drop_front(axis + 1))) {}
  int64_t at(int64_t o, int64_t i, int64_t n) const { return (o * size + i) * inner + n; }
};

} // namespace zero::reference

#endif
