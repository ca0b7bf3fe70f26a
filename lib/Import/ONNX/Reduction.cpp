//===- Reduction.cpp - Reductions and running sums ------------------------===//
#include "Reduction.h"
#include "Indexing.h"
#include "OperatorTable.h"

#include <limits>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

Tensor zero::onnx_import::combinedCount(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes,
                                        const Tensor &like) {
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
  // Booleans (opset 20) are the numbers 0 and 1 meanwhile, without a sign: the largest of none is 0.
  bool isBool = operand.elementType().isInteger(1);
  if (isBool)
    operand = node.cast(operand, node.builder.getIntegerType(8, /*isSigned=*/false));
  Tensor result = node.reduce(kind, operand, **axes, node.intAttribute("keepdims", 1) != 0);
  if (isBool)
    result = node.cast(result, node.builder.getI1Type());
  return node.set(after(node, *x, **axes, result));
}

Tensor square(NodeContext &node, const Tensor &x) { return node.binary<nn::MulOp>(x, x); }
Tensor magnitude(NodeContext &node, const Tensor &x) { return node.unary<nn::AbsOp>(x); }
Tensor divide(NodeContext &node, const Tensor &x, ArrayRef<int64_t> axes, const Tensor &sum) {
  return axes.empty() ? sum : node.binary<nn::DivOp>(sum, combinedCount(node, x, axes, sum));
}

/// What is computed in floats of integers too, and truncated.
Tensor inFloat(NodeContext &node, const Tensor &x, Type element,
               llvm::function_ref<Tensor(const Tensor &)> function) {
  if (isa<FloatType>(x.elementType()))
    return function(x);
  return node.cast(function(node.cast(x, element)), x.elementType());
}

/// The square root, with the gradient 0 at 0: that of a norm there (its own would be infinite).
Tensor root(NodeContext &node, const Tensor &, ArrayRef<int64_t>, const Tensor &sum) {
  return inFloat(node, sum, node.builder.getF64Type(), [&](const Tensor &x) {
    Tensor zero = repeatLike(node, node.splat(0, x.elementType()), x);
    Tensor one = repeatLike(node, node.splat(1, x.elementType()), x);
    Tensor isZero = compare(node, nn::ComparePredicate::eq, x, zero);
    return select(node, isZero, zero, node.unary<nn::SqrtOp>(select(node, isZero, one, x)));
  });
}

Tensor logarithm(NodeContext &node, const Tensor &, ArrayRef<int64_t>, const Tensor &sum) {
  return inFloat(node, sum, node.builder.getF32Type(),
                 [&](const Tensor &x) { return node.unary<nn::LogOp>(x); });
}

/// max + log(sum(exp(x - max))), where an infinite or undefined maximum is not taken out.
LogicalResult buildReduceLogSumExp(NodeContext &node) {
  FailureOr<Tensor> given = node.input(0);
  if (failed(given))
    return failure();
  FailureOr<std::optional<SmallVector<int64_t>>> axes = reductionAxes(node, *given);
  if (failed(axes))
    return failure();
  Tensor result = inFloat(node, *given, node.builder.getF32Type(), [&](const Tensor &x) {
    if (!*axes)
      return x;
    Tensor largest = node.reduce(nn::ReduceKind::max, x, **axes, /*keepDims=*/true);
    Type element = x.elementType();
    Tensor zero = repeatLike(node, node.splat(0, element), largest);
    Tensor infinity = repeatLike(node, node.splat(std::numeric_limits<double>::infinity(), element), largest);
    Tensor isFinite = compare(node, nn::ComparePredicate::lt, node.unary<nn::AbsOp>(largest), infinity);
    largest = select(node, isFinite, largest, zero);
    Tensor whole = node.broadcastTo(largest, x.shape, [&] { return node.shapeOf(x); });
    Tensor powers = node.unary<nn::ExpOp>(node.binary<nn::SubOp>(x, whole));
    Tensor sum = node.reduce(nn::ReduceKind::sum, powers, **axes, /*keepDims=*/true);
    Tensor kept = node.binary<nn::AddOp>(node.unary<nn::LogOp>(sum), largest);
    if (node.intAttribute("keepdims", 1))
      return kept;
    Dims shape;
    for (auto [dim, size] : llvm::enumerate(kept.shape))
      if (!llvm::is_contained(**axes, static_cast<int64_t>(dim)))
        shape.push_back(size);
    return node.reshape(kept, std::move(shape), {kept});
  });
  return node.set(std::move(result));
}

LogicalResult buildCumSum(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  FailureOr<int64_t> given = node.integer(1, "axis");
  if (failed(x) || failed(given))
    return failure();
  FailureOr<int64_t> axis = node.axis(*given, x->rank());
  if (failed(axis))
    return failure();
  if (x->elementType().isInteger(1))
    return node.error() << "cannot sum " << x->type();
  return node.set(node.make<nn::CumSumOp>(x->shape, x->elementType(), x->value, *axis,
                                          node.intAttribute("exclusive", 0) != 0,
                                          node.intAttribute("reverse", 0) != 0));
}

constexpr OperatorRow rows[] = {
    {"CumSum", 11, kNewestOpset, buildCumSum},
    {"ReduceL1", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, magnitude>},
    {"ReduceL2", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, square, root>},
    {"ReduceLogSum", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, asItIs, logarithm>},
    {"ReduceLogSumExp", 1, kNewestOpset, buildReduceLogSumExp},
    {"ReduceMax", 1, kNewestOpset, buildReduce<nn::ReduceKind::max>},
    {"ReduceMean", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, asItIs, divide>},
    {"ReduceMin", 1, kNewestOpset, buildReduce<nn::ReduceKind::min>},
    {"ReduceProd", 1, kNewestOpset, buildReduce<nn::ReduceKind::prod>},
    {"ReduceSum", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum>},
    {"ReduceSumSquare", 1, kNewestOpset, buildReduce<nn::ReduceKind::sum, square>},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::reductionOperators() { return rows; }
