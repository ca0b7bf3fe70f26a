//===- Reduction.cpp - Reductions and running sums ------------------------===//
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// The axes that a reduction names: an input of newer operator sets, an attribute of older ones, all if none
/// is given.
FailureOr<std::optional<SmallVector<int64_t>>> reductionAxes(NodeContext &node, const Tensor &x) {
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.inputOrAttribute(1, "axes");
  if (failed(given))
    return failure();
  if (!*given || (*given)->empty()) {
    if (node.intAttribute("noop_with_empty_axes", 0))
      return std::optional<SmallVector<int64_t>>();
    return std::optional(llvm::to_vector(llvm::seq<int64_t>(0, x.rank())));
  }
  FailureOr<SmallVector<int64_t>> axes = node.axes(**given, x.rank());
  if (failed(axes))
    return failure();
  return std::optional(std::move(*axes));
}

/// How many elements of x one element of the result combines, in the shape of `like`.
Tensor combined(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes, const Tensor &like) {
  auto shape = [&] { return node.shapeOf(like); };
  std::optional<Dim> count = Dim(1);
  SmallVector<Tensor> sizes;
  for (int64_t axis : axes) {
    count = count ? Dim::multiply(*count, x.shape[axis]) : std::nullopt;
    sizes.push_back(node.slice(node.shapeOf(x), {axis}, {1}, {Dim(1)}));
  }
  if (count && count->isStatic())
    return node.broadcastTo(node.splat(static_cast<double>(count->value()), x.elementType()), like.shape,
                            shape);
  Tensor product = node.reduce(nn::ReduceKind::prod, node.concat(sizes, 0), {0}, /*keepDims=*/false);
  return node.broadcastTo(node.cast(product, x.elementType()), like.shape, shape);
}

using Before = Tensor (*)(NodeContext &, const Tensor &);
using After = Tensor (*)(NodeContext &, const Tensor &x, ArrayRef<int64_t> axes, const Tensor &reduced);

Tensor asItIs(NodeContext &, const Tensor &x) { return x; }
Tensor asItIs(NodeContext &, const Tensor &, ArrayRef<int64_t>, const Tensor &reduced) { return reduced; }

template <nn::ReduceKind kind, Before before = asItIs, After after = asItIs>
LogicalResult buildReduce(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<std::optional<SmallVector<int64_t>>> axes = reductionAxes(node, *x);
  if (failed(axes))
    return failure();
  Tensor operand = before(node, *x);
  if (!*axes) // nothing is reduced
    return node.set(after(node, *x, {}, operand));
  Tensor result = node.reduce(kind, operand, **axes, node.intAttribute("keepdims", 1) != 0);
  return node.set(after(node, *x, **axes, result));
}

Tensor square(NodeContext &node, const Tensor &x) { return node.binary<nn::MulOp>(x, x); }
Tensor magnitude(NodeContext &node, const Tensor &x) { return node.unary<nn::AbsOp>(x); }
Tensor divide(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes, const Tensor &sum) {
  return axes.empty() ? sum : node.binary<nn::DivOp>(sum, combined(node, x, axes, sum));
}
Tensor root(NodeContext &node, const Tensor &, ArrayRef<int64_t>, const Tensor &sum) {
  return node.unary<nn::SqrtOp>(sum);
}

LogicalResult buildCumSum(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  FailureOr<int64_t> given = node.integer(1, "axis");
  if (failed(x) || failed(given))
    return failure();
  FailureOr<int64_t> axis = node.axis(*given, x->rank());
  if (failed(axis))
    return failure();
  return node.set(node.make<nn::CumSumOp>(x->shape, x->elementType(), x->value, *axis,
                                          node.intAttribute("exclusive", 0) != 0,
                                          node.intAttribute("reverse", 0) != 0));
}

constexpr OperatorRow rows[] = {
    {"CumSum", 11, kNewestOpset, buildCumSum},
    {"ReduceL1", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, magnitude>},
    {"ReduceL2", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, square, root>},
    {"ReduceMax", 1, kNewestOpset, buildReduce<nn::ReduceKind::max>},
    {"ReduceMean", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, asItIs, divide>},
    {"ReduceMin", 1, kNewestOpset, buildReduce<nn::ReduceKind::min>},
    {"ReduceProd", 1, kNewestOpset, buildReduce<nn::ReduceKind::prod>},
    {"ReduceSum", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum>},
    {"ReduceSumSquare", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, square>},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::reductionOperators() { return rows; }
