//===- IndexingRules.cpp - Gathers, scatters and the order of elements ----===//
#include "Indexing.h"
#include "Rules.h"

#include <cmath>
#include <numeric>

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

static double combine(nn::ScatterKind kind, double a, double b) {
  switch (kind) {
  case nn::ScatterKind::assign:
    return b;
  case nn::ScatterKind::add:
    return a + b;
  case nn::ScatterKind::mul:
    return a * b;
  case nn::ScatterKind::max:
    return maximum(a, b);
  case nn::ScatterKind::min:
    return minimum(a, b);
  }
  llvm_unreachable("unknown kind");
}

/// Whether element a lies before element b of an integer tensor.
static bool isLess(const HostTensor &tensor, int64_t a, int64_t b) {
  // 64 bits without a sign do not fit getInt's result.
  if (tensor.getElementType().isUnsignedInteger())
    return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  return a < b;
}

static int64_t combine(nn::ScatterKind kind, const HostTensor &tensor, int64_t a, int64_t b) {
  switch (kind) {
  case nn::ScatterKind::assign:
    return b;
  case nn::ScatterKind::add:
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  case nn::ScatterKind::mul:
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case nn::ScatterKind::max:
    return isLess(tensor, a, b) ? b : a;
  case nn::ScatterKind::min:
    return isLess(tensor, b, a) ? b : a;
  }
  llvm_unreachable("unknown kind");
}

LogicalResult zero::reference::apply(nn::ScatterOp op, Operands operands, Results results) {
  const HostTensor &data = operands[0], &updates = operands[1], &indices = operands[2];
  HostTensor &result = results[0];
  AxisView to(data.getShape(), op.getAxis());
  int64_t count = indices.getNumElements();
  llvm::copy(data.getBytes(), result.getBytes().begin());
  // Floats are combined in double and rounded once.
  std::vector<double> floats;
  for (int64_t i = 0; data.isFloat() && i < data.getNumElements(); ++i)
    floats.push_back(data.getFloat(i));
  std::vector<bool> isTouched(data.getNumElements(), false);
  for (int64_t i = 0; i < count; ++i) {
    if (failed(checkIndex(op, indices, i, to.size)))
      return failure();
    for (int64_t outer = 0; outer < to.outer; ++outer)
      for (int64_t inner = 0; inner < to.inner; ++inner) {
        int64_t from = (outer * count + i) * to.inner + inner, at = to.at(outer, indices.getInt(i), inner);
        isTouched[at] = true;
        if (op.getKind() == nn::ScatterKind::assign)
          result.copyElement(at, updates, from);
        else if (data.isFloat())
          floats[at] = combine(op.getKind(), floats[at], updates.getFloat(from));
        else
          result.setInt(at, combine(op.getKind(), data, result.getInt(at), updates.getInt(from)));
      }
  }
  if (data.isFloat() && op.getKind() != nn::ScatterKind::assign)
    for (auto [i, value] : llvm::enumerate(floats))
      if (isTouched[i])
        result.setFloat(i, value);
  return success();
}

LogicalResult zero::reference::apply(nn::TopKOp op, Operands operands, Results results) {
  const HostTensor &operand = operands[0];
  AxisView from(operand.getShape(), op.getAxis()), to(results[0].getShape(), op.getAxis());
  bool smallest = op.getSmallest();
  auto isLarger = [&](int64_t a, int64_t b) {
    if (!operand.isFloat())
      return isLess(operand, operand.getInt(b), operand.getInt(a));
    double x = operand.getFloat(a), y = operand.getFloat(b);
    return std::isnan(x) ? !std::isnan(y) : x > y;
  };
  std::vector<int64_t> order(from.size);
  for (int64_t outer = 0; outer < from.outer; ++outer)
    for (int64_t inner = 0; inner < from.inner; ++inner) {
      std::iota(order.begin(), order.end(), 0);
      llvm::sort(order, [&](int64_t a, int64_t b) {
        int64_t x = from.at(outer, a, inner), y = from.at(outer, b, inner);
        bool larger = isLarger(x, y), smaller = isLarger(y, x);
        return larger == smaller ? a < b : smallest ? smaller : larger;
      });
      for (int64_t i = 0; i < to.size; ++i)
        results[0].setInt(to.at(outer, i, inner), order[i]);
    }
  return success();
}
