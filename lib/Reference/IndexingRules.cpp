//===- IndexingRules.cpp - Gathers and their transpose --------------------===//
#include "Indexing.h"
#include "Rules.h"

using namespace mlir;
using namespace zero;
using namespace zero::reference;

/// Error unless index element i lies in [0, size).
static LogicalResult checkIndex(Operation *op, const HostTensor &indices, int64_t i, int64_t size) {
  int64_t value = indices.getInt(i);
  if (value >= 0 && value < size)
    return success();
  return op->emitOpError() << "index element " << i << " is " << value << ", outside [0, " << size << ")";
}

LogicalResult zero::reference::apply(nn::GatherOp op, Operands operands, Results results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  AxisView from(data.getShape(), op.getAxis());
  int64_t count = indices.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    if (failed(checkIndex(op, indices, i, from.size)))
      return failure();
    for (int64_t outer = 0; outer < from.outer; ++outer)
      for (int64_t inner = 0; inner < from.inner; ++inner)
        results[0].copyElement((outer * count + i) * from.inner + inner, data,
                               from.at(outer, indices.getInt(i), inner));
  }
  return success();
}

LogicalResult zero::reference::apply(nn::ScatterAddOp op, Operands operands, Results results) {
  const HostTensor &updates = operands[0], &indices = operands[1];
  AxisView to(results[0].getShape(), op.getAxis());
  int64_t count = indices.getNumElements();
  // Sums are kept in double and rounded once.
  std::vector<double> floats(results[0].isFloat() ? results[0].getNumElements() : 0, 0.0);
  for (int64_t i = 0; i < count; ++i) {
    if (failed(checkIndex(op, indices, i, to.size)))
      return failure();
    for (int64_t outer = 0; outer < to.outer; ++outer)
      for (int64_t inner = 0; inner < to.inner; ++inner) {
        int64_t from = (outer * count + i) * to.inner + inner, at = to.at(outer, indices.getInt(i), inner);
        if (results[0].isFloat())
          floats[at] += updates.getFloat(from);
        else
          results[0].setInt(at, static_cast<int64_t>(static_cast<uint64_t>(results[0].getInt(at)) +
                                                     static_cast<uint64_t>(updates.getInt(from))));
      }
  }
  for (auto [i, value] : llvm::enumerate(floats))
    results[0].setFloat(i, value);
  return success();
}

LogicalResult zero::reference::apply(nn::GatherNDOp op, Operands operands, Results results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t batchDims = op.getBatchDims(), tuple = indices.getShape().back();
  ArrayRef<int64_t> shape = data.getShape();
  int64_t batches = ShapedType::getNumElements(shape.take_front(batchDims));
  int64_t slice = ShapedType::getNumElements(shape.drop_front(batchDims + tuple));
  int64_t tuples = indices.getNumElements() / tuple;
  for (int64_t i = 0; i < tuples; ++i) {
    int64_t from = i / (tuples / batches); // the batch that this tuple belongs to
    for (int64_t j = 0; j < tuple; ++j) {
      int64_t size = shape[batchDims + j];
      if (failed(checkIndex(op, indices, i * tuple + j, size)))
        return failure();
      from = from * size + indices.getInt(i * tuple + j);
    }
    for (int64_t inner = 0; inner < slice; ++inner)
      results[0].copyElement(i * slice + inner, data, from * slice + inner);
  }
  return success();
}
