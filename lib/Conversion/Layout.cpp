//===- Layout.cpp - Strides of tensors within buffers ---------------------===//
#include "Layout.h"

namespace zero::conversion {

int64_t countElements(Shape shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Strides getDenseStrides(Shape shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

bool isDense(Shape shape, llvm::ArrayRef<int64_t> strides) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != stride)
      return false;
    stride *= shape[i];
  }
  return true;
}

std::optional<Strides> reshapeStrides(Shape from, llvm::ArrayRef<int64_t> strides, Shape to) {
  if (countElements(from) == 0 || isDense(from, strides))
    return getDenseStrides(to);
  // Runs of dimensions of `from` that lie as one dense dimension; each is cut into dimensions of `to`,
  // innermost first.
  Strides result(to.size());
  size_t next = to.size();
  int64_t runStride = strides.back(), runElements = 1, cutElements = 1;
  for (size_t i = from.size(); i-- > 0;) {
    runElements *= from[i];
    if (i != 0 && (from[i - 1] == 1 || strides[i - 1] == runElements * runStride))
      continue;
    while (next > 0 && (cutElements < runElements || to[next - 1] == 1)) {
      --next;
      result[next] = cutElements * runStride;
      cutElements *= to[next];
    }
    if (cutElements != runElements)
      return std::nullopt;
    if (i != 0) {
      runStride = strides[i - 1];
      runElements = cutElements = 1;
    }
  }
  return result;
}

int64_t getSpan(Shape shape, llvm::ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == 0)
      return 0;
    last += (size - 1) * strides[i];
  }
  return last + 1;
}

std::optional<MatrixLayout> getMatrixLayout(Shape shape, llvm::ArrayRef<int64_t> strides) {
  size_t rank = shape.size();
  int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  int64_t batch = countElements(shape.drop_back(2));
  MatrixLayout layout;
  if (batch > 1) {
    std::optional<Strides> flat = reshapeStrides(shape.drop_back(2), strides.drop_back(2), {batch});
    if (!flat)
      return std::nullopt;
    layout.batchStride = flat->front();
  }
  int64_t rowStride = rows == 1 ? columns : strides[rank - 2];
  int64_t columnStride = columns == 1 ? 1 : strides[rank - 1];
  if (columnStride == 1 && rowStride >= columns) {
    layout.rowStride = rowStride;
    return layout;
  }
  if (rows == 1)
    rowStride = 1;
  if (rowStride == 1 && columnStride >= rows) {
    layout.rowStride = columnStride;
    layout.exchanged = true;
    return layout;
  }
  return std::nullopt;
}

} // namespace zero::conversion
