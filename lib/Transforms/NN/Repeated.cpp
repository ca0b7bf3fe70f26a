//===- Repeated.cpp - Values that repeat a smaller one over a wide tensor -===//
#include "Repeated.h"
#include "TensorViews.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

Repeated::Repeated(Value wide) : value(wide) {
  for (auto [dim, size] : llvm::enumerate(shapeOf(wide)))
    dims.push_back(size == 1 ? -1 : static_cast<int64_t>(dim));
}

/// The dimensions that are not of size 1.
static SmallVector<int64_t> countingDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> found;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1)
      found.push_back(dim);
  return found;
}

Repeated Repeated::stripped() const {
  Repeated now = *this;
  for (;;) {
    if (auto broadcast = now.value.getDefiningOp<BroadcastOp>()) {
      ArrayRef<int64_t> shape = broadcast.getOperand().getType().getShape();
      SmallVector<int64_t> along;
      for (auto [size, dim] : llvm::zip_equal(shape, broadcast.getDims()))
        along.push_back(size == 1 ? -1 : now.dims[dim]);
      now = {broadcast.getOperand(), along};
      continue;
    }
    auto reshape = now.value.getDefiningOp<ReshapeOp>();
    if (!reshape || reshape.getShape())
      return now;
    ArrayRef<int64_t> from = reshape.getOperand().getType().getShape(), to = reshape.getType().getShape();
    SmallVector<int64_t> fromDims = countingDims(from), toDims = countingDims(to);
    if (fromDims.size() != toDims.size())
      return now;
    SmallVector<int64_t> along(from.size(), -1);
    for (auto [a, b] : llvm::zip_equal(fromDims, toDims)) {
      if (from[a] != to[b])
        return now;
      along[a] = now.dims[b];
    }
    now = {reshape.getOperand(), along};
  }
}

bool Repeated::runsAlong(ArrayRef<int64_t> axes, ArrayRef<int64_t> wide) const {
  SmallVector<int64_t> expected, found;
  llvm::copy_if(axes, std::back_inserter(expected), [&](int64_t axis) { return wide[axis] != 1; });
  for (auto [size, dim] : llvm::zip_equal(shapeOf(value), dims)) {
    if (size == 1)
      continue;
    if (dim < 0 || size != wide[dim])
      return false;
    found.push_back(dim);
  }
  return found == expected;
}
