//===- TensorViews.h - Tensors as permutations of the elements of others --===//
//
// Exporters reach one layout over many reshapes, transposes and products with numbers. A view says where the
// elements come from, so that the shortest way to another layout can be built.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_TENSORVIEWS_H
#define ZERO_LIB_TRANSFORMS_NN_TENSORVIEWS_H

#include "dialects/NN/NNOps.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace zero {

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

/// factor * base, read with these sizes and strides (in elements of the base in row-major order).
struct View {
  mlir::Value base;
  double factor = 1;
  llvm::SmallVector<int64_t> sizes, strides;

  void swap(size_t a, size_t b) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
};

/// All elements in row-major order.
View wholeView(mlir::Value value);

/// Follows transposes, reshapes and multiplications with numbers back to where the elements come from. All
/// types on the way must be static.
View viewOf(mlir::Value value);

/// The same elements in the same order under another shape, if it can be read with strides.
std::optional<View> reshapeView(const View &view, llvm::ArrayRef<int64_t> shape);

/// The view's elements (without the factor) with its dimensions in the given order, as a reshape and, where
/// the elements do not lie so, a transpose.
mlir::Value materialise(mlir::PatternRewriter &rewriter, mlir::Location location, const View &view,
                        llvm::ArrayRef<int64_t> order);

/// Undoes a repetition within one dimension: where the view reads a broadcast and dimension `dim` counts
/// groups and, inside, the copies of each, the view of the groups alone and the number of copies; none if the
/// view repeats nothing or anything else.
std::optional<std::pair<View, int64_t>> stripRepeat(const View &view, int64_t dim);

} // namespace zero

#endif
