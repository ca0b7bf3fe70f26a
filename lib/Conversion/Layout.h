//===- Layout.h - Strides of tensors within buffers -----------------------===//
//
// Strides and spans count elements. Dimensions of size 1 have no say in what is dense.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CONVERSION_LAYOUT_H
#define ZERO_LIB_CONVERSION_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace zero::conversion {

using Shape = llvm::ArrayRef<int64_t>;
using Strides = llvm::SmallVector<int64_t, 6>;

int64_t countElements(Shape shape);
/// Row-major strides.
Strides getDenseStrides(Shape shape);
bool isDense(Shape shape, llvm::ArrayRef<int64_t> strides);
/// The strides of the same elements under another shape; none where no strides can say it.
std::optional<Strides> reshapeStrides(Shape from, llvm::ArrayRef<int64_t> strides, Shape to);
/// Elements from the first to the last one, both included; strides are not negative.
int64_t getSpan(Shape shape, llvm::ArrayRef<int64_t> strides);

/// How a library matmul reads or writes a tensor of matrices.
struct MatrixLayout {
  int64_t batchStride = 0;
  int64_t rowStride = 0;
  bool exchanged = false; ///< the last two dimensions lie exchanged: the row stride is that of columns
};
/// None where the matrices have no unit stride or their batch dimensions no single stride.
std::optional<MatrixLayout> getMatrixLayout(Shape shape, llvm::ArrayRef<int64_t> strides);

} // namespace zero::conversion

#endif
