//===- Indexing.cpp - Operators that read by index ------------------------===//
#include "OperatorTable.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Whether indices are known not to be negative. Data that a user passes as indices counts: there a negative
/// number is a mistake (PyTorch refuses it), which the step reports.
bool isNonNegative(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  DenseElementsAttr constant;
  if (matchPattern(op, m_Constant(&constant)))
    return llvm::all_of(constant.getValues<APInt>(), [](const APInt &n) { return n.isNonNegative(); });
  if (isa<nn::IotaOp, nn::ShapeOfOp>(op))
    return true;
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::BroadcastToOp, nn::SliceOp, nn::CumSumOp>(op))
    return isNonNegative(op->getOperand(0));
  if (isa<nn::AddOp, nn::MulOp, nn::ConcatOp, nn::MinOp, nn::DivOp>(op))
    return llvm::all_of(op->getOperands(), isNonNegative);
  if (isa<nn::MaxOp>(op))
    return llvm::any_of(op->getOperands(), isNonNegative);
  if (auto cast = dyn_cast<nn::CastOp>(op)) {
    Type from = cast.getOperand().getType().getElementType();
    return from.isInteger(1) || (isa<IntegerType>(from) && isNonNegative(cast.getOperand()));
  }
  if (auto select = dyn_cast<nn::SelectOp>(op))
    return isNonNegative(select.getOnTrue()) && isNonNegative(select.getOnFalse());
  return false;
}

/// Negative indices count from the end: adds `sizes` (broadcast against the last dimension) to them.
FailureOr<Tensor> normalized(NodeContext &node, const Tensor &indices, ArrayRef<Dim> sizes) {
  if (!isa<IntegerType>(indices.elementType())) {
    node.error() << "needs integer indices, not " << indices.type();
    return failure();
  }
  if (isNonNegative(indices.value))
    return indices;
  SmallVector<int64_t> numbers;
  for (const Dim &size : sizes) {
    if (!size.isStatic()) {
      node.error() << "has indices that may be negative into a dimension whose size is not known";
      return failure();
    }
    numbers.push_back(size.value());
  }
  Tensor extents = node.cast(node.integers(numbers, /*scalar=*/numbers.size() == 1), indices.elementType());
  Tensor pair[] = {indices, extents};
  if (failed(node.broadcast(pair)))
    return failure();
  Tensor zeros[] = {indices, node.splat(0, indices.elementType())};
  if (failed(node.broadcast(zeros)))
    return failure();
  Tensor isNegative = node.make<nn::CompareOp>(indices.shape, node.builder.getI1Type(),
                                               nn::ComparePredicate::lt, indices.value, zeros[1].value);
  Tensor moved = node.binary<nn::AddOp>(indices, pair[1]);
  return node.make<nn::SelectOp>(indices.shape, indices.elementType(), isNegative.value, moved.value,
                                 indices.value);
}

LogicalResult buildGather(NodeContext &node) {
  FailureOr<Tensor> data = node.input(0), given = node.input(1);
  if (failed(data) || failed(given))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), data->rank());
  if (failed(axis))
    return failure();
  // Elements of a known shape: the usual way to read one dimension.
  std::optional<Dims> contents;
  if (data->contents && given->contents && given->rank() <= 1) {
    contents.emplace();
    int64_t size = static_cast<int64_t>(data->contents->size());
    for (const Dim &dim : *given->contents) {
      if (!dim.isStatic() || dim.value() < -size || dim.value() >= size)
        return node.error() << "reads outside " << data->type();
      contents->push_back((*data->contents)[dim.value() < 0 ? dim.value() + size : dim.value()]);
    }
  }
  Tensor indices = *given;
  if (given->contents && data->shape[*axis].isStatic() &&
      llvm::all_of(*given->contents, [](const Dim &dim) { return dim.isStatic(); })) {
    SmallVector<int64_t> numbers;
    int64_t size = data->shape[*axis].value();
    for (const Dim &dim : *given->contents)
      numbers.push_back(dim.value() < 0 ? dim.value() + size : dim.value());
    for (int64_t number : numbers)
      if (number < 0 || number >= size)
        return node.error() << "index " << number << " is outside dimension " << *axis << " of "
                            << data->type();
    indices = node.cast(node.integers(numbers, given->rank() == 0), given->elementType());
  } else {
    FailureOr<Tensor> normal = normalized(node, *given, {data->shape[*axis]});
    if (failed(normal))
      return failure();
    indices = *normal;
  }
  Dims shape(ArrayRef(data->shape).take_front(*axis));
  shape.append(indices.shape);
  shape.append(data->shape.begin() + *axis + 1, data->shape.end());
  Tensor result =
      node.make<nn::GatherOp>(std::move(shape), data->elementType(), data->value, indices.value, *axis);
  result.contents = std::move(contents);
  return node.set(std::move(result));
}

LogicalResult buildGatherND(NodeContext &node) {
  FailureOr<Tensor> data = node.input(0), indices = node.input(1);
  if (failed(data) || failed(indices))
    return failure();
  int64_t batchDims = node.intAttribute("batch_dims", 0);
  if (indices->rank() < 1 || !indices->shape.back().isStatic())
    return node.error() << "needs index tuples of known length, not " << indices->type();
  int64_t tuple = indices->shape.back().value();
  if (batchDims < 0 || batchDims >= indices->rank() || tuple < 1 || batchDims + tuple > data->rank())
    return node.error() << "index tuples of " << tuple << " elements do not fit " << data->type() << " with "
                        << batchDims << " batch dimensions";
  FailureOr<Tensor> normal = normalized(node, *indices, ArrayRef(data->shape).slice(batchDims, tuple));
  if (failed(normal))
    return failure();
  Dims shape(ArrayRef(indices->shape).drop_back());
  shape.append(data->shape.begin() + batchDims + tuple, data->shape.end());
  return node.set(node.make<nn::GatherNDOp>(std::move(shape), data->elementType(), data->value, normal->value,
                                            batchDims));
}

constexpr OperatorRow rows[] = {
    {"Gather", 1, kNewestOpset, buildGather},
    {"GatherND", 11, kNewestOpset, buildGatherND},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::indexingOperators() { return rows; }
