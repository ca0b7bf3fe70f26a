//===- Ordering.cpp - Operators that pick elements by their order ---------===//
#include "Indexing.h"
#include "OperatorTable.h"
#include "Softmax.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Indices of the k best along `axis`.
Tensor topK(NodeContext &node, const Tensor &x, int64_t axis, int64_t k, bool smallest) {
  Dims shape = x.shape;
  shape[axis] = Dim(k);
  return node.make<nn::TopKOp>(std::move(shape), node.builder.getI64Type(), x.value, axis, smallest);
}

/// x turned round along `axis`, whose size is known.
Tensor reversed(NodeContext &node, const Tensor &x, int64_t axis) {
  SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
  strides[axis] = -1;
  starts[axis] = std::max<int64_t>(x.shape[axis].value() - 1, 0);
  return node.slice(x, starts, strides, x.shape);
}

/// K is an attribute before opset 10; `largest` is one since 11. Sorted is what `sorted = 0` leaves open.
LogicalResult buildTopK(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", -1), x->rank());
  FailureOr<int64_t> k = node.opset < 10 ? node.intAttribute("k", -1) : node.integer(1, "K");
  if (failed(axis) || failed(k))
    return failure();
  const Dim &size = x->shape[*axis];
  if (*k < 0 || (size.isStatic() && *k > size.value()))
    return node.error() << "takes " << *k << " elements of dimension " << *axis << " of " << x->type();
  bool smallest = node.opset >= 11 && node.intAttribute("largest", 1) == 0;
  Tensor indices = topK(node, *x, *axis, *k, smallest);
  FailureOr<Tensor> linear = elementIndices(node, indices, *x, *axis);
  if (failed(linear) || failed(node.set(gatherElements(node, *x, *linear))))
    return failure();
  return node.set(std::move(indices), 1);
}

/// The index of the largest element along `axis`, a NaN before all others, kept as a dimension of size 1.
FailureOr<Tensor> argMax(NodeContext &node, const Tensor &x, int64_t axis, bool smallest, bool last) {
  const Dim &size = x.shape[axis];
  if (size.is(0)) {
    node.error() << "has no element along dimension " << axis << " of " << x.type();
    return failure();
  }
  Tensor operand = x;
  if (smallest && isa<FloatType>(x.elementType())) { // a NaN counts as largest, not as smallest
    operand = node.unary<nn::NegOp>(x);
    smallest = false;
  }
  if (!last)
    return topK(node, operand, axis, 1, smallest);
  if (!size.isStatic()) {
    node.error() << "cannot find the last index along dimension " << axis << " of " << x.type()
                 << ", whose size is not known";
    return failure();
  }
  Tensor fromEnd = topK(node, reversed(node, operand, axis), axis, 1, smallest);
  Tensor end = repeatLike(node, node.integers({size.value() - 1}, /*scalar=*/true), fromEnd);
  return node.binary<nn::SubOp>(end, fromEnd);
}

template <bool smallest> LogicalResult buildArg(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), x->rank());
  if (failed(axis))
    return failure();
  bool last = node.opset >= 12 && node.intAttribute("select_last_index", 0) != 0;
  FailureOr<Tensor> index = argMax(node, *x, *axis, smallest, last);
  if (failed(index))
    return failure();
  if (node.intAttribute("keepdims", 1))
    return node.set(std::move(*index));
  Dims shape = index->shape;
  shape.erase(shape.begin() + *axis);
  return node.set(node.reshape(*index, std::move(shape), {*index}));
}

/// 1 at the first largest element along `axis`, 0 elsewhere.
FailureOr<Tensor> hardmax(NodeContext &node, const Tensor &x, int64_t axis) {
  FailureOr<Tensor> index = argMax(node, x, axis, /*smallest=*/false, /*last=*/false);
  if (failed(index))
    return failure();
  Tensor here = node.broadcastTo(*index, x.shape, [&] { return node.shapeOf(x); });
  Tensor isBest = compare(node, nn::ComparePredicate::eq, positions(node, x, axis), here);
  return node.cast(isBest, x.elementType());
}

LogicalResult buildHardmax(NodeContext &node) {
  FailureOr<Rows> rows = readRows(node);
  if (failed(rows))
    return failure();
  if (std::optional<Dim> count = Dim::product(rows->x.shape); count && count->is(0))
    return node.set(rows->x);
  FailureOr<Tensor> result = hardmax(node, rows->rows, rows->axis);
  return failed(result) ? failure() : node.set(node.reshape(*result, rows->x.shape, {rows->x}));
}

/// values[1] where the position along a new axis is the index, values[0] elsewhere. An index outside
/// [-depth, depth) is nowhere.
LogicalResult buildOneHot(NodeContext &node) {
  FailureOr<Tensor> indices = node.input(0), depthInput = node.input(1), values = node.input(2);
  if (failed(indices) || failed(depthInput) || failed(values))
    return failure();
  // The depth may be of any numeric type.
  int64_t depth = -1;
  if (std::optional<double> number = node.scalarConstant(*depthInput)) {
    depth = static_cast<int64_t>(*number);
  } else {
    FailureOr<int64_t> computed = node.integer(1, "depth");
    if (failed(computed))
      return failure();
    depth = *computed;
  }
  if (depth < 1)
    return node.error() << "has depth " << depth;
  if (values->rank() != 1 || (values->shape[0].isStatic() && !values->shape[0].is(2)))
    return node.error() << "needs two values, not " << values->type();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", -1), indices->rank() + 1);
  if (failed(axis))
    return failure();
  Tensor index = node.cast(*indices, node.builder.getI64Type());
  Tensor zero = repeatLike(node, node.integers({0}, /*scalar=*/true), index);
  Tensor end = repeatLike(node, node.integers({depth}, /*scalar=*/true), index);
  index = select(node, compare(node, nn::ComparePredicate::lt, index, zero),
                 node.binary<nn::AddOp>(index, end), index);
  Dims apart = index.shape;
  apart.insert(apart.begin() + *axis, Dim(1));
  Dims shape = apart;
  shape[*axis] = Dim(depth);
  index = node.reshape(index, std::move(apart), {index});
  auto sizes = [&] { // of the result
    Tensor before = node.slice(node.shapeOf(index), {0}, {1}, {Dim(*axis)});
    Tensor after = node.slice(node.shapeOf(index), {*axis + 1}, {1}, {Dim(index.rank() - *axis - 1)});
    return node.concat({before, node.integers({depth}), after}, 0);
  };
  Tensor isHot = compare(node, nn::ComparePredicate::eq, positions(node, shape, *axis, sizes),
                         node.broadcastTo(index, shape, sizes));
  auto value = [&](int64_t which) {
    Tensor scalar = node.reshape(node.slice(*values, {which}, {1}, {Dim(1)}), {});
    return node.broadcastTo(scalar, shape, sizes);
  };
  return node.set(select(node, isHot, value(1), value(0)));
}

constexpr OperatorRow rows[] = {
    {"ArgMax", 1, kNewestOpset, buildArg<false>}, {"ArgMin", 1, kNewestOpset, buildArg<true>},
    {"Hardmax", 1, kNewestOpset, buildHardmax},   {"OneHot", 9, kNewestOpset, buildOneHot},
    {"TopK", 1, kNewestOpset, buildTopK},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::orderingOperators() { return rows; }
