//===- ShapeRules.cpp - Sources, and ops that move elements ---------------===//
#include "Indexing.h"
#include "Rules.h"
#include "dialects/NN/Shapes.h"

using namespace mlir;
using namespace zero;
using namespace zero::reference;

LogicalResult zero::reference::apply(nn::ConstantOp op, Operands, Results results) {
  FailureOr<HostTensor> value = HostTensor::fromAttribute(op.getValue());
  if (failed(value))
    return op.emitOpError("has no elements in memory");
  results[0] = std::move(*value);
  return success();
}

LogicalResult zero::reference::apply(nn::IotaOp op, Operands, Results results) {
  forEachIndex(results[0].getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    if (results[0].isFloat())
      results[0].setFloat(flat, static_cast<double>(index[op.getAxis()]));
    else
      results[0].setInt(flat, index[op.getAxis()]);
  });
  return success();
}

/// Operand dimension i lies along result dimension dims[i]; a size of 1 is repeated.
static void broadcast(const HostTensor &from, ArrayRef<int64_t> dims, HostTensor &to) {
  Index source(from.getRank(), 0);
  forEachIndex(to.getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    for (auto [i, dim] : llvm::enumerate(dims))
      source[i] = from.getShape()[i] == 1 ? 0 : index[dim];
    to.copyElement(flat, from, flatten(source, from.getShape()));
  });
}

LogicalResult zero::reference::apply(nn::BroadcastOp op, Operands operands, Results results) {
  broadcast(operands[0], op.getDims(), results[0]);
  return success();
}

LogicalResult zero::reference::apply(nn::BroadcastToOp op, Operands operands, Results results) {
  ArrayRef<int64_t> from = operands[0].getShape(), wanted = operands[1].getValues<int64_t>();
  // Both ways, aligned at the last dimension.
  Index shape(std::max(from.size(), wanted.size()), 1);
  for (int64_t back = 1; back <= static_cast<int64_t>(shape.size()); ++back) {
    int64_t a = back <= static_cast<int64_t>(from.size()) ? from[from.size() - back] : 1;
    int64_t b = back <= static_cast<int64_t>(wanted.size()) ? wanted[wanted.size() - back] : 1;
    if (a != b && a != 1 && b != 1)
      return op.emitOpError() << "cannot broadcast " << nn::formatShape(from) << " and "
                              << nn::formatShape(wanted);
    shape[shape.size() - back] = a == 1 ? b : a;
  }
  if (ArrayRef<int64_t>(shape) != results[0].getShape())
    return op.emitOpError() << "shape operand gives " << nn::formatShape(shape) << " but the result has "
                            << nn::formatShape(results[0].getShape());
  Index dims;
  for (size_t i = 0; i < from.size(); ++i)
    dims.push_back(shape.size() - from.size() + i);
  broadcast(operands[0], dims, results[0]);
  return success();
}

/// What the shape operand of a reshape says about an operand of shape `from`; fails where it says nothing
/// consistent.
static FailureOr<Index> resolveShape(ArrayRef<int64_t> from, ArrayRef<int64_t> wanted, bool allowZero) {
  Index shape(wanted);
  int64_t known = 1, inferred = -1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == -1) {
      if (inferred >= 0)
        return failure();
      inferred = i;
      continue;
    }
    if (size == 0 && !allowZero) {
      if (i >= from.size())
        return failure();
      size = from[i];
    }
    if (size < 0)
      return failure();
    known *= size;
  }
  int64_t total = ShapedType::getNumElements(from);
  if (inferred >= 0) {
    if (known == 0 || total % known != 0)
      return failure();
    shape[inferred] = total / known;
    known = total;
  }
  if (known != total)
    return failure();
  return shape;
}

LogicalResult zero::reference::apply(nn::ReshapeOp op, Operands operands, Results results) {
  if (op.getShape()) {
    ArrayRef<int64_t> wanted = operands[1].getValues<int64_t>();
    FailureOr<Index> shape = resolveShape(operands[0].getShape(), wanted, op.getAllowZero());
    if (failed(shape))
      return op.emitOpError() << "cannot reshape " << nn::formatShape(operands[0].getShape()) << " to "
                              << nn::formatShape(wanted);
    if (ArrayRef<int64_t>(*shape) != results[0].getShape())
      return op.emitOpError() << "shape operand gives " << nn::formatShape(*shape) << " but the result has "
                              << nn::formatShape(results[0].getShape());
  }
  llvm::copy(operands[0].getBytes(), results[0].getBytes().begin());
  return success();
}

LogicalResult zero::reference::apply(nn::ShapeOfOp op, Operands operands, Results results) {
  for (auto [i, size] : llvm::enumerate(operands[0].getShape()))
    results[0].setInt(i, size);
  return success();
}

LogicalResult zero::reference::apply(nn::TransposeOp op, Operands operands, Results results) {
  Index source(operands[0].getRank(), 0);
  forEachIndex(results[0].getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
      source[dim] = index[i];
    results[0].copyElement(flat, operands[0], flatten(source, operands[0].getShape()));
  });
  return success();
}

LogicalResult zero::reference::apply(nn::SliceOp op, Operands operands, Results results) {
  Index source(operands[0].getRank(), 0);
  forEachIndex(results[0].getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i)
      source[i] = op.getStarts()[i] + index[i] * op.getStrides()[i];
    results[0].copyElement(flat, operands[0], flatten(source, operands[0].getShape()));
  });
  return success();
}

LogicalResult zero::reference::apply(nn::PadOp op, Operands operands, Results results) {
  double value = op.getValue().convertToDouble();
  for (int64_t i = 0; i < results[0].getNumElements(); ++i) {
    if (results[0].isFloat())
      results[0].setFloat(i, value);
    else
      results[0].setInt(i, static_cast<int64_t>(value));
  }
  Index to(operands[0].getRank(), 0);
  forEachIndex(operands[0].getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i)
      to[i] = op.getLow()[i] + index[i] * (op.getInterior()[i] + 1);
    results[0].copyElement(flatten(to, results[0].getShape()), operands[0], flat);
  });
  return success();
}

LogicalResult zero::reference::apply(nn::ConcatOp op, Operands operands, Results results) {
  int64_t start = 0;
  Index to(results[0].getRank(), 0);
  for (const HostTensor &operand : operands) {
    forEachIndex(operand.getShape(), [&](int64_t flat, ArrayRef<int64_t> index) {
      llvm::copy(index, to.begin());
      to[op.getAxis()] += start;
      results[0].copyElement(flatten(to, results[0].getShape()), operand, flat);
    });
    start += operand.getShape()[op.getAxis()];
  }
  return success();
}
