//===- Indexing.cpp - Operators that read by index ------------------------===//
#include "Indexing.h"
#include "EmbeddingGradient.h"
#include "GridSample.h"
#include "OperatorTable.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Whether indices are known not to be negative. Indices that a user passes may be, unless they are read out
/// of a weight: into a table of weights a negative number is a mistake (PyTorch refuses it), which the step
/// reports.
class NonNegative {
public:
  explicit NonNegative(bool trustsInputs) : trustsInputs(trustsInputs) {}
  bool of(Value value) {
    if (budget-- == 0) // paths may be many more than ops
      return false;
    Operation *op = value.getDefiningOp();
    if (cast<RankedTensorType>(value.getType()).getElementType().isUnsignedInteger())
      return true;
    if (!op)
      return trustsInputs;
    DenseElementsAttr constant;
    if (matchPattern(op, m_Constant(&constant)))
      return llvm::all_of(constant.getValues<APInt>(), [](const APInt &n) { return n.isNonNegative(); });
    if (isa<nn::IotaOp, nn::ShapeOfOp, nn::TopKOp>(op))
      return true;
    if (isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::BroadcastToOp, nn::SliceOp, nn::CumSumOp>(
            op))
      return of(op->getOperand(0));
    if (isa<nn::AddOp, nn::MulOp, nn::ConcatOp, nn::MinOp, nn::DivOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value operand) { return of(operand); });
    if (isa<nn::MaxOp>(op))
      return llvm::any_of(op->getOperands(), [&](Value operand) { return of(operand); });
    if (auto cast = dyn_cast<nn::CastOp>(op)) {
      Type from = cast.getOperand().getType().getElementType();
      return from.isInteger(1) || (isa<IntegerType>(from) && of(cast.getOperand()));
    }
    if (auto select = dyn_cast<nn::SelectOp>(op))
      return of(select.getOnTrue()) && of(select.getOnFalse());
    return false;
  }

private:
  bool trustsInputs;
  int budget = 4096;
};

/// The product of dimensions [begin, end) as a 0-d i64 tensor.
Tensor sizeOf(NodeContext &node, const Tensor &x, int64_t begin, int64_t end) {
  std::optional<Dim> product = Dim::product(ArrayRef(x.shape).slice(begin, end - begin));
  if (product && product->isStatic())
    return node.integers({product->value()}, /*scalar=*/true);
  Tensor sizes = node.slice(node.shapeOf(x), {begin}, {1}, {Dim(end - begin)});
  return node.reduce(nn::ReduceKind::prod, sizes, {0}, /*keepDims=*/false);
}

/// -1 where an index is outside [0, size), else `linear`.
Tensor keepInside(NodeContext &node, const Tensor &linear, const Tensor &index, const Tensor &size) {
  Tensor zero = repeatLike(node, node.integers({0}, /*scalar=*/true), index);
  Tensor end = repeatLike(node, size, index);
  Tensor inside = node.binary<nn::AndOp>(compare(node, nn::ComparePredicate::ge, index, zero),
                                         compare(node, nn::ComparePredicate::lt, index, end));
  return select(node, inside, linear, repeatLike(node, node.integers({-1}, /*scalar=*/true), linear));
}

/// sum + index * stride
Tensor addTerm(NodeContext &node, const std::optional<Tensor> &sum, const Tensor &index,
               const Tensor &stride) {
  Tensor term = index;
  if (node.scalarConstant(stride) != 1.0)
    term = node.binary<nn::MulOp>(term, repeatLike(node, stride, index));
  return sum ? node.binary<nn::AddOp>(*sum, term) : term;
}

} // namespace

Tensor zero::onnx_import::repeatLike(NodeContext &node, const Tensor &scalar, const Tensor &like) {
  return node.broadcastTo(scalar, like.shape, [&] { return node.shapeOf(like); });
}

Tensor zero::onnx_import::compare(NodeContext &node, nn::ComparePredicate predicate, const Tensor &x,
                                  const Tensor &y) {
  return node.make<nn::CompareOp>(x.shape, node.builder.getI1Type(), predicate, x.value, y.value);
}

Tensor zero::onnx_import::select(NodeContext &node, const Tensor &condition, const Tensor &onTrue,
                                 const Tensor &onFalse) {
  return node.make<nn::SelectOp>(onTrue.shape, onTrue.elementType(), condition.value, onTrue.value,
                                 onFalse.value);
}

Tensor zero::onnx_import::positions(NodeContext &node, const Dims &shape, int64_t axis,
                                    llvm::function_ref<Tensor()> sizes) {
  Type i64 = node.builder.getI64Type();
  Dim size = shape[axis];
  Tensor along;
  if (size.isStatic()) {
    along = node.make<nn::IotaOp>({size}, i64, 0);
  } else { // a running sum of ones, which folds to an iota
    Tensor length = node.slice(sizes(), {axis}, {1}, {Dim(1)});
    Tensor ones =
        node.make<nn::BroadcastToOp>({size}, i64, node.integers({1}, /*scalar=*/true).value, length.value);
    along = node.make<nn::CumSumOp>(ones.shape, i64, ones.value, 0, /*exclusive=*/true, /*reverse=*/false);
  }
  Dims apart(shape.size(), Dim(1));
  apart[axis] = size;
  return node.broadcastTo(node.reshape(along, std::move(apart)), shape, sizes);
}

Tensor zero::onnx_import::positions(NodeContext &node, const Tensor &like, int64_t axis) {
  return positions(node, like.shape, axis, [&] { return node.shapeOf(like); });
}

FailureOr<Tensor> zero::onnx_import::normalizedIndices(NodeContext &node, const Tensor &indices,
                                                       const Tensor &data, int64_t first, int64_t count) {
  if (!isa<IntegerType>(indices.elementType()) || indices.elementType().isInteger(1)) {
    node.error() << "needs integer indices, not " << indices.type();
    return failure();
  }
  if (NonNegative(/*trustsInputs=*/node.isWeight(data.value)).of(indices.value))
    return indices;
  Tensor sizes;
  if (count == 1) {
    sizes = sizeOf(node, data, first, first + 1);
  } else {
    ArrayRef<Dim> dims = ArrayRef(data.shape).slice(first, count);
    if (llvm::all_of(dims, [](const Dim &dim) { return dim.isStatic(); }))
      sizes = node.integers(llvm::map_to_vector(dims, [](const Dim &dim) { return dim.value(); }));
    else
      sizes = node.slice(node.shapeOf(data), {first}, {1}, {Dim(count)});
  }
  Tensor extents = repeatLike(node, node.cast(sizes, indices.elementType()), indices);
  Tensor zero = repeatLike(node, node.splat(0, indices.elementType()), indices);
  Tensor isNegative = compare(node, nn::ComparePredicate::lt, indices, zero);
  return select(node, isNegative, node.binary<nn::AddOp>(indices, extents), indices);
}

FailureOr<Tensor> zero::onnx_import::elementIndices(NodeContext &node, const Tensor &indices,
                                                    const Tensor &data, int64_t axis) {
  if (indices.rank() != data.rank()) {
    node.error() << "needs indices of the rank of " << data.type() << ", not " << indices.type();
    return failure();
  }
  for (int64_t dim = 0; dim < data.rank(); ++dim)
    if (dim != axis && data.shape[dim].isStatic() && indices.shape[dim].isStatic() &&
        indices.shape[dim].value() > data.shape[dim].value()) {
      node.error() << "has indices of type " << indices.type() << ", larger than " << data.type()
                   << " in dimension " << dim;
      return failure();
    }
  FailureOr<Tensor> normal = normalizedIndices(node, indices, data, axis);
  if (failed(normal))
    return failure();
  Tensor index = node.cast(*normal, node.builder.getI64Type());
  if (data.rank() == 1)
    return index;
  std::optional<Tensor> sum;
  for (int64_t dim = 0; dim < data.rank(); ++dim) {
    if (dim != axis && indices.shape[dim].is(1))
      continue;
    Tensor stride = sizeOf(node, data, dim + 1, data.rank());
    sum = addTerm(node, sum, dim == axis ? index : positions(node, indices, dim), stride);
  }
  if (isa_and_nonnull<nn::TopKOp>(indices.value.getDefiningOp())) // inside by its nature
    return *sum;
  return keepInside(node, *sum, index, sizeOf(node, data, axis, axis + 1));
}

FailureOr<Tensor> zero::onnx_import::tupleIndices(NodeContext &node, const Tensor &indices,
                                                  const Tensor &data) {
  int64_t tuple = indices.rank() ? indices.shape.back().value() : 0, outer = indices.rank() - 1;
  FailureOr<Tensor> normal = normalizedIndices(node, indices, data, 0, tuple);
  if (failed(normal))
    return failure();
  Tensor all = node.cast(*normal, node.builder.getI64Type());
  Dims shape(ArrayRef(indices.shape).drop_back());
  if (tuple == 1)
    return node.reshape(all, std::move(shape), {all});
  SmallVector<int64_t> starts(indices.rank(), 0), strides(indices.rank(), 1);
  Dims part = indices.shape;
  part.back() = Dim(1);
  SmallVector<Tensor> components;
  std::optional<Tensor> sum;
  for (int64_t k = 0; k < tuple; ++k) {
    starts[outer] = k;
    components.push_back(node.reshape(node.slice(all, starts, strides, part), shape, {all}));
    sum = addTerm(node, sum, components.back(), sizeOf(node, data, k + 1, tuple));
  }
  for (auto [k, component] : llvm::enumerate(components)) {
    int64_t dim = static_cast<int64_t>(k);
    sum = keepInside(node, *sum, component, sizeOf(node, data, dim, dim + 1));
  }
  return *sum;
}

Tensor zero::onnx_import::flattenLeading(NodeContext &node, const Tensor &data, int64_t count) {
  Dims shape{node.extent(data, 0, count)};
  shape.append(data.shape.begin() + count, data.shape.end());
  return node.reshape(data, std::move(shape), {data});
}

Tensor zero::onnx_import::gatherElements(NodeContext &node, const Tensor &data, const Tensor &linear) {
  Tensor flat = flattenLeading(node, data, data.rank());
  return node.make<nn::GatherOp>(linear.shape, data.elementType(), flat.value, linear.value, 0);
}

namespace {

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
    FailureOr<Tensor> normal = normalizedIndices(node, *given, *data, *axis);
    if (failed(normal))
      return failure();
    indices = *normal;
  }
  Dims shape(ArrayRef(data->shape).take_front(*axis));
  shape.append(indices.shape);
  shape.append(data->shape.begin() + *axis + 1, data->shape.end());
  Tensor result =
      node.make<nn::GatherOp>(std::move(shape), data->elementType(), data->value, indices.value, *axis);
  if (*axis == 0) {
    FailureOr<Tensor> kept = keepFromPadding(node, *data, result, indices);
    if (failed(kept))
      return failure();
    result = *kept;
  }
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
  FailureOr<Tensor> normal = normalizedIndices(node, *indices, *data, batchDims, tuple);
  if (failed(normal))
    return failure();
  Dims shape(ArrayRef(indices->shape).drop_back());
  shape.append(data->shape.begin() + batchDims + tuple, data->shape.end());
  return node.set(node.make<nn::GatherNDOp>(std::move(shape), data->elementType(), data->value, normal->value,
                                            batchDims));
}

LogicalResult buildGatherElements(NodeContext &node) {
  FailureOr<Tensor> data = node.input(0), indices = node.input(1);
  if (failed(data) || failed(indices))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), data->rank());
  if (failed(axis))
    return failure();
  FailureOr<Tensor> linear = elementIndices(node, *indices, *data, *axis);
  return failed(linear) ? failure() : node.set(gatherElements(node, *data, *linear));
}

/// The kind of a scatter by its attribute `reduction` (since opset 16).
FailureOr<nn::ScatterKind> scatterKind(NodeContext &node, const Tensor &data) {
  std::string reduction = node.stringAttribute("reduction", "none");
  std::optional<nn::ScatterKind> kind =
      reduction == "none" ? nn::ScatterKind::assign : nn::symbolizeScatterKind(reduction);
  if (!kind || (reduction == "assign")) {
    node.error() << "reduction '" << reduction << "' is not supported";
    return failure();
  }
  if (*kind != nn::ScatterKind::assign && data.elementType().isInteger(1)) {
    node.error() << "reduction '" << reduction << "' has no meaning for " << data.type();
    return failure();
  }
  return *kind;
}

LogicalResult checkUpdates(NodeContext &node, const Tensor &data, const Tensor &updates, const Dims &shape) {
  bool fits =
      updates.elementType() == data.elementType() && updates.rank() == static_cast<int64_t>(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = !updates.shape[i].isStatic() || !shape[i].isStatic() || updates.shape[i] == shape[i];
  if (fits)
    return success();
  return node.error() << "has updates of type " << updates.type() << " where data and indices need "
                      << node.tensorType(shape, data.elementType());
}

/// Scatter of opset 9 is ScatterElements under its first name.
LogicalResult buildScatterElements(NodeContext &node) {
  FailureOr<Tensor> data = node.input(0), indices = node.input(1), updates = node.input(2);
  if (failed(data) || failed(indices) || failed(updates))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), data->rank());
  FailureOr<nn::ScatterKind> kind = scatterKind(node, *data);
  if (failed(axis) || failed(kind) || failed(checkUpdates(node, *data, *updates, indices->shape)))
    return failure();
  FailureOr<Tensor> linear = elementIndices(node, *indices, *data, *axis);
  if (failed(linear))
    return failure();
  Tensor flat = flattenLeading(node, *data, data->rank());
  Tensor result = node.make<nn::ScatterOp>(flat.shape, data->elementType(), *kind, flat.value, updates->value,
                                           linear->value, 0);
  return node.set(node.reshape(result, data->shape, {*data}));
}

LogicalResult buildScatterND(NodeContext &node) {
  FailureOr<Tensor> data = node.input(0), indices = node.input(1), updates = node.input(2);
  if (failed(data) || failed(indices) || failed(updates))
    return failure();
  if (indices->rank() < 1 || !indices->shape.back().isStatic() || indices->shape.back().value() < 1 ||
      indices->shape.back().value() > data->rank())
    return node.error() << "needs index tuples of 1 to " << data->rank() << " elements, not "
                        << indices->type();
  int64_t tuple = indices->shape.back().value();
  Dims expected(ArrayRef(indices->shape).drop_back());
  expected.append(data->shape.begin() + tuple, data->shape.end());
  FailureOr<nn::ScatterKind> kind = scatterKind(node, *data);
  if (failed(kind) || failed(checkUpdates(node, *data, *updates, expected)))
    return failure();
  FailureOr<Tensor> linear = tupleIndices(node, *indices, *data);
  if (failed(linear))
    return failure();
  Tensor flat = flattenLeading(node, *data, tuple);
  Tensor result = node.make<nn::ScatterOp>(flat.shape, data->elementType(), *kind, flat.value, updates->value,
                                           linear->value, 0);
  return node.set(node.reshape(result, data->shape, {*data}));
}

/// Of sequence b the first lengths[b] elements are turned round.
LogicalResult buildReverseSequence(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), lengths = node.input(1);
  if (failed(x) || failed(lengths))
    return failure();
  FailureOr<int64_t> time = node.axis(node.intAttribute("time_axis", 0), x->rank());
  FailureOr<int64_t> batch = node.axis(node.intAttribute("batch_axis", 1), x->rank());
  if (failed(time) || failed(batch))
    return failure();
  if (*time == *batch || *time > 1 || *batch > 1 || lengths->rank() != 1 ||
      !isa<IntegerType>(lengths->elementType()) ||
      failed(node.broadcastShape({x->shape[*batch]}, lengths->shape)))
    return node.error() << "needs time and batch as the first two dimensions of " << x->type()
                        << " and one length for each sequence, not " << lengths->type();
  // x with time and batch as one dimension, indexed by [time, batch] or [batch, time].
  Dims plane(ArrayRef(x->shape).take_front(2));
  auto sizes = [&] { return node.slice(node.shapeOf(*x), {0}, {1}, {Dim(2)}); };
  auto repeat = [&](const Tensor &tensor) { return node.broadcastTo(tensor, plane, sizes); };
  Dims column(2, Dim(1));
  column[*batch] = lengths->shape[0];
  Tensor ends = repeat(node.reshape(node.cast(*lengths, node.builder.getI64Type()), std::move(column)));
  Tensor at = positions(node, plane, *time, sizes), other = positions(node, plane, *batch, sizes);
  Tensor last = node.binary<nn::SubOp>(ends, repeat(node.integers({1}, /*scalar=*/true)));
  Tensor from =
      select(node, compare(node, nn::ComparePredicate::lt, at, ends), node.binary<nn::SubOp>(last, at), at);
  Tensor stride = repeat(sizeOf(node, *x, 1, 2));
  Tensor major = *time == 0 ? from : other, minor = *time == 0 ? other : from;
  Tensor linear = node.binary<nn::AddOp>(node.binary<nn::MulOp>(major, stride), minor);
  Tensor flat = flattenLeading(node, *x, 2);
  return node.set(node.make<nn::GatherOp>(x->shape, x->elementType(), flat.value, linear.value, 0));
}

constexpr OperatorRow rows[] = {
    {"AffineGrid", 20, kNewestOpset, buildAffineGrid},
    {"Gather", 1, kNewestOpset, buildGather},
    {"GatherElements", 11, kNewestOpset, buildGatherElements},
    {"GatherND", 11, kNewestOpset, buildGatherND},
    {"GridSample", 16, kNewestOpset, buildGridSample},
    {"ReverseSequence", 10, kNewestOpset, buildReverseSequence},
    {"Scatter", 9, kNewestOpset, buildScatterElements},
    {"ScatterElements", 11, kNewestOpset, buildScatterElements},
    {"ScatterND", 11, kNewestOpset, buildScatterND},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::indexingOperators() { return rows; }
