//===- Normalization.cpp - Softmax and norms ------------------------------===//
#include "OperatorTable.h"
#include "Softmax.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

Tensor zero::onnx_import::logSoftmax(NodeContext &node, const Tensor &x, int64_t axis) {
  auto along = [&](const Tensor &row) {
    return node.broadcastTo(row, x.shape, [&] { return node.shapeOf(x); });
  };
  Tensor shifted = node.binary<nn::SubOp>(x, along(node.reduce(nn::ReduceKind::max, x, {axis}, true)));
  Tensor sum = node.reduce(nn::ReduceKind::sum, node.unary<nn::ExpOp>(shifted), {axis}, true);
  return node.binary<nn::SubOp>(shifted, along(node.unary<nn::LogOp>(sum)));
}

FailureOr<Rows> zero::onnx_import::readRows(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  const bool flattens = node.opset < 13;
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", flattens ? 1 : -1), x->rank());
  if (failed(axis))
    return failure();
  if (!flattens || *axis == x->rank() - 1)
    return Rows{*x, *x, *axis};
  return Rows{*x, node.reshape(*x, {node.extent(*x, 0, *axis), node.extent(*x, *axis, x->rank())}), 1};
}

namespace {

Tensor softmax(NodeContext &node, const Tensor &x, int64_t axis) {
  return node.make<nn::SoftmaxOp>(x.shape, x.elementType(), x.value, axis);
}

template <Tensor (*function)(NodeContext &, const Tensor &, int64_t)>
LogicalResult buildSoftmax(NodeContext &node) {
  FailureOr<Rows> rows = readRows(node);
  if (failed(rows))
    return failure();
  return node.set(node.reshape(function(node, rows->rows, rows->axis), rows->x.shape, {rows->x}));
}

/// The weights of a norm in the shape of the normalised dimensions.
FailureOr<Tensor> normWeight(NodeContext &node, unsigned index, const Tensor &x, int64_t axis) {
  FailureOr<Tensor> weight = node.input(index);
  if (failed(weight))
    return failure();
  Dims row(ArrayRef(x.shape).drop_front(axis));
  if (llvm::any_of(row, [](const Dim &dim) { return !dim.isStatic(); })) {
    node.error() << "normalises a dimension of " << x.type() << " whose size is not known";
    return failure();
  }
  Tensor trimmed = *weight;
  while (trimmed.rank() > static_cast<int64_t>(row.size()) && trimmed.shape.front().is(1)) {
    Dims shape(ArrayRef(trimmed.shape).drop_front());
    trimmed = node.reshape(trimmed, std::move(shape));
  }
  FailureOr<Dims> fits = node.broadcastShape(row, trimmed.shape);
  if (failed(fits) || *fits != row) {
    node.error() << "weights of type " << weight->type() << " do not fit the normalised dimensions of "
                 << x.type();
    return failure();
  }
  return node.broadcastTo(trimmed, row, nullptr);
}

LogicalResult buildLayerNormalization(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", -1), x->rank());
  if (failed(axis))
    return failure();
  FailureOr<Tensor> scale = normWeight(node, 1, *x, *axis);
  if (failed(scale))
    return failure();
  Value bias;
  if (node.has(2)) {
    FailureOr<Tensor> tensor = normWeight(node, 2, *x, *axis);
    if (failed(tensor))
      return failure();
    bias = tensor->value;
  }
  Dims leading(ArrayRef(x->shape).take_front(*axis)), kept = leading;
  kept.append(x->rank() - *axis, Dim(1));
  Type statistic = node.tensorType(leading, x->elementType());
  auto norm = nn::LayerNormOp::create(
      node.builder, node.location,
      TypeRange{node.tensorType(x->shape, x->elementType()), statistic, statistic}, x->value, scale->value,
      bias, node.builder.getF64FloatAttr(node.floatAttribute("epsilon", 1e-5f)));
  if (failed(node.set(Tensor{norm.getResult(), x->shape, std::nullopt})))
    return failure();
  for (unsigned index : {1u, 2u})
    if (index < node.results.size() &&
        failed(
            node.set(node.reshape(Tensor{norm->getResult(index), leading, std::nullopt}, kept, {*x}), index)))
      return failure();
  return success();
}

/// x * scale / sqrt(mean(x^2) + epsilon)
LogicalResult buildRMSNormalization(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", -1), x->rank());
  if (failed(axis))
    return failure();
  FailureOr<Tensor> scale = normWeight(node, 1, *x, *axis);
  if (failed(scale))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(*axis, x->rank()));
  Tensor sum = node.reduce(nn::ReduceKind::sum, node.binary<nn::MulOp>(*x, *x), axes, /*keepDims=*/true);
  auto number = [&](double value) {
    return node.broadcastTo(node.splat(value, x->elementType()), sum.shape,
                            [&] { return node.shapeOf(sum); });
  };
  double count = static_cast<double>(Dim::product(scale->shape)->value());
  Tensor mean = node.binary<nn::DivOp>(sum, number(count));
  Tensor inverse =
      node.unary<nn::RsqrtOp>(node.binary<nn::AddOp>(mean, number(node.floatAttribute("epsilon", 1e-5f))));
  auto whole = [&](const Tensor &part) {
    return node.broadcastTo(part, x->shape, [&] { return node.shapeOf(*x); });
  };
  return node.set(node.binary<nn::MulOp>(node.binary<nn::MulOp>(*x, whole(inverse)), whole(*scale)));
}

constexpr OperatorRow rows[] = {
    {"LayerNormalization", 17, kNewestOpset, buildLayerNormalization},
    {"LogSoftmax", 1, kNewestOpset, buildSoftmax<logSoftmax>},
    {"RMSNormalization", 23, kNewestOpset, buildRMSNormalization},
    {"Softmax", 1, kNewestOpset, buildSoftmax<softmax>},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::normalizationOperators() { return rows; }
