//===- Constants.cpp - Operators that make tensors out of nothing ---------===//
#include "Indexing.h"
#include "OperatorTable.h"
#include "Weights.h"

#include <cmath>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

LogicalResult buildConstant(NodeContext &node) {
  if (node.node->attribute_size() != 1)
    return node.error() << "has " << node.node->attribute_size() << " attributes where one gives the value";
  const onnx::AttributeProto &value = node.node->attribute(0);
  StringRef name = value.name();
  auto set = [&](FailureOr<Tensor> tensor) { return failed(tensor) ? failure() : node.set(std::move(*tensor)); };
  if (name == "value_int")
    return node.set(node.integers({value.i()}, /*scalar=*/true));
  if (name == "value_ints")
    return node.set(node.integers(SmallVector<int64_t>(value.ints().begin(), value.ints().end())));
  if (name == "value_float")
    return set(node.storedConstant(value.f(), /*scalar=*/true));
  if (name == "value_floats")
    return set(node.storedConstant(ArrayRef<float>(value.floats().data(), value.floats_size()), /*scalar=*/false));
  if (name == "value")
    return set(node.storedConstant(value.t()));
  return node.error() << "attribute '" << name << "' is not supported";
}

/// One number in a shape given by a 1-d tensor.
Tensor fill(NodeContext &node, const Tensor &number, const Tensor &shape) {
  Dims result;
  if (shape.contents)
    result = *shape.contents;
  else
    for (int64_t i = 0; i < shape.shape[0].value(); ++i)
      result.push_back(node.freshDim());
  return node.broadcastTo(number, std::move(result), [&] { return shape; });
}

LogicalResult buildConstantOfShape(NodeContext &node) {
  FailureOr<Tensor> shape = node.sizesInput(0);
  if (failed(shape))
    return failure();
  Type element = node.builder.getF32Type();
  if (const onnx::AttributeProto *value = node.attribute("value")) {
    FailureOr<Type> stored = node.elementType(value->t().data_type());
    if (failed(stored))
      return failure();
    element = *stored;
  }
  if (shape->contents && isa<FloatType>(element)) {
    FailureOr<std::optional<Tensor>> parameter = node.parameterOfShape(node.tensorType(*shape->contents, element));
    if (failed(parameter))
      return failure();
    if (*parameter)
      return node.set(std::move(**parameter));
  }
  Tensor number = node.splat(0, node.builder.getF32Type());
  if (const onnx::AttributeProto *value = node.attribute("value")) {
    FailureOr<Tensor> stored = node.stored(value->t(), node.node->output(0));
    if (failed(stored))
      return failure();
    if (elementCount(value->t()) != 1)
      return node.error() << "attribute 'value' needs one element, not " << stored->type();
    number = node.reshape(*stored, {});
  }
  Tensor result = fill(node, number, *shape);
  constexpr int64_t kSmall = 64; // a list of sizes or axes, say
  if (shape->contents && result.rank() == 1 && number.contents && result.shape[0].isStatic() &&
      result.shape[0].value() <= kSmall)
    result.contents = Dims(result.shape[0].value(), number.contents->front());
  return node.set(std::move(result));
}

/// start, start + delta, ... below limit. A length that is known only with the batch is counted by a running
/// sum of ones.
LogicalResult buildRange(NodeContext &node) {
  FailureOr<Tensor> start = node.input(0), limit = node.input(1), delta = node.input(2);
  if (failed(start) || failed(limit) || failed(delta))
    return failure();
  Type element = start->elementType(), given = element;
  // From operator set 27 on narrow floats are counted in float32 and rounded once.
  if ((element.isF16() || element.isBF16()) && node.opset >= 27) {
    if (int64_t stash = node.intAttribute("stash_type", 1); stash != 1)
      return node.error() << "stash_type " << stash << " is not supported, must be 1 (float32)";
    element = node.builder.getF32Type();
    for (FailureOr<Tensor> *tensor : {&start, &limit, &delta})
      *tensor = node.cast(**tensor, element);
  }
  bool isInteger = element.isSignlessInteger();
  auto number = [](const Tensor &tensor) -> std::optional<Dim> {
    if (tensor.contents && tensor.contents->size() == 1)
      return tensor.contents->front();
    return std::nullopt;
  };
  std::optional<Dim> first = number(*start), last = number(*limit), step = number(*delta), length;
  std::optional<double> from = node.scalarConstant(*start), to = node.scalarConstant(*limit),
                        by = node.scalarConstant(*delta);
  if (from && to && by && *by != 0) {
    double count = std::ceil((*to - *from) / *by);
    if (!(count <= 1e12))
      return node.error() << "has " << count << " elements";
    length = Dim(static_cast<int64_t>(std::max(count, 0.0)));
  } else if (first && last && step && step->is(1)) {
    length = Dim::subtract(*last, *first);
  }
  Tensor index;
  if (length && length->isStatic()) {
    index = node.make<nn::IotaOp>({*length}, element, 0);
  } else if (isInteger && step && step->is(1)) {
    if (failed(node.checkIndependent(*limit, "the limit (input 1)")) ||
        failed(node.checkIndependent(*start, "the start (input 0)")))
      return failure();
    Tensor count = length && first->is(0) ? *limit : node.binary<nn::SubOp>(*limit, *start);
    Tensor shape = node.reshape(node.cast(count, node.builder.getI64Type()), {Dim(1)});
    Tensor ones = node.make<nn::BroadcastToOp>({length.value_or(node.freshDim())}, element,
                                               node.splat(1, element).value, shape.value);
    index =
        node.make<nn::CumSumOp>(ones.shape, element, ones.value, 0, /*exclusive=*/true, /*reverse=*/false);
  } else {
    return node.error() << "start, limit and delta must be constant, or integers with delta 1";
  }
  auto along = [&](const Tensor &scalar) {
    return node.broadcastTo(node.reshape(scalar, {}), index.shape, [&] { return node.shapeOf(index); });
  };
  Tensor result = index;
  if (by != 1.0)
    result = node.binary<nn::MulOp>(result, along(*delta));
  if (from != 0.0)
    result = node.binary<nn::AddOp>(result, along(*start));
  result = node.cast(result, given);
  // A list of axes or sizes, say; longer ones are positions and stay in closed form.
  constexpr int64_t kSmall = 8;
  if (length && length->isStatic() && length->value() <= kSmall && first && first->isStatic() && step) {
    result.contents.emplace();
    for (int64_t i = 0; i < length->value(); ++i)
      result.contents->push_back(Dim(static_cast<int64_t>( // wraps around, as the tensor does
          static_cast<uint64_t>(first->value()) +
          static_cast<uint64_t>(i) * static_cast<uint64_t>(step->value()))));
  }
  return node.set(std::move(result));
}

/// 1 on the k-th diagonal, in the shape of a matrix.
LogicalResult buildEyeLike(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  if (x->rank() != 2)
    return node.error() << "needs a matrix, not " << x->type();
  FailureOr<Type> element = x->elementType();
  if (node.attribute("dtype"))
    element = node.elementType(static_cast<int>(node.intAttribute("dtype", 0)));
  if (failed(element))
    return failure();
  constexpr int64_t kFar = int64_t(1) << 40; // beyond every row and column
  int64_t k = std::clamp(node.intAttribute("k", 0), -kFar, kFar);
  Tensor row = positions(node, *x, 0), column = positions(node, *x, 1);
  if (k)
    row = node.binary<nn::AddOp>(row, repeatLike(node, node.integers({k}, /*scalar=*/true), row));
  return node.set(node.cast(compare(node, nn::ComparePredicate::eq, column, row), *element));
}

constexpr OperatorRow rows[] = {
    {"Constant", 1, kNewestOpset, buildConstant},
    {"ConstantOfShape", 9, kNewestOpset, buildConstantOfShape},
    {"EyeLike", 9, kNewestOpset, buildEyeLike},
    {"Range", 11, kNewestOpset, buildRange},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::constantOperators() { return rows; }
