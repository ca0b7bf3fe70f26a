//===- Elementwise.cpp - Operators that work element by element -----------===//
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

template <typename OpTy> LogicalResult buildUnary(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  return failed(x) ? failure() : node.set(node.unary<OpTy>(*x));
}

/// The first inputs, all tensors of one element type, brought to one shape.
FailureOr<SmallVector<Tensor>> broadcastInputs(NodeContext &node, unsigned count) {
  SmallVector<Tensor> tensors;
  if (count == 0) {
    node.error() << "has no input";
    return failure();
  }
  for (unsigned i = 0; i < count; ++i) {
    FailureOr<Tensor> tensor = node.input(i);
    if (failed(tensor))
      return failure();
    if (i && tensor->elementType() != tensors.front().elementType()) {
      node.error() << "inputs have different element types: " << tensors.front().type() << " and "
                   << tensor->type();
      return failure();
    }
    tensors.push_back(std::move(*tensor));
  }
  if (failed(node.broadcast(tensors)))
    return failure();
  return tensors;
}

using DimFunction = std::optional<Dim> (*)(const Dim &, const Dim &);

/// Truncating division of plain numbers, exact division of symbols.
std::optional<Dim> quotient(const Dim &a, const Dim &b) {
  if (a.isStatic() && b.isStatic() && b.value() != 0 && !(b.value() == -1))
    return Dim(a.value() / b.value());
  return Dim::divide(a, b);
}

/// The known elements of an elementwise result of two small integer tensors.
std::optional<Dims> combine(const Tensor &x, const Tensor &y, const Tensor &result, DimFunction function) {
  if (!function || !x.contents || !y.contents || result.rank() > 1)
    return std::nullopt;
  size_t size = std::max(x.contents->size(), y.contents->size());
  if (x.contents->empty() || y.contents->empty())
    return std::nullopt;
  Dims elements;
  for (size_t i = 0; i < size; ++i) {
    std::optional<Dim> element = function((*x.contents)[x.contents->size() == 1 ? 0 : i],
                                          (*y.contents)[y.contents->size() == 1 ? 0 : i]);
    // Narrower integers wrap around.
    unsigned width = result.elementType().getIntOrFloatBitWidth();
    if (!element || (width < 64 && width > 1 && element->isStatic() && !llvm::isIntN(width, element->value())))
      return std::nullopt;
    elements.push_back(*element);
  }
  return elements;
}

template <typename OpTy, DimFunction function = nullptr> LogicalResult buildBinary(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, 2);
  if (failed(tensors))
    return failure();
  Tensor result = node.binary<OpTy>((*tensors)[0], (*tensors)[1]);
  result.contents =
      combine(node.inputs[0]->tensors.front(), node.inputs[1]->tensors.front(), result, function);
  return node.set(std::move(result));
}

template <typename OpTy> LogicalResult buildLogical(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, 2);
  if (failed(tensors))
    return failure();
  if (isa<FloatType>(tensors->front().elementType()))
    return node.error() << "needs integers or booleans, not " << tensors->front().type();
  return node.set(node.binary<OpTy>((*tensors)[0], (*tensors)[1]));
}

LogicalResult buildNot(NodeContext &node) { return buildUnary<nn::NotOp>(node); }

Tensor compare(NodeContext &node, nn::ComparePredicate predicate, const Tensor &x, const Tensor &y) {
  return node.make<nn::CompareOp>(x.shape, node.builder.getI1Type(), predicate, x.value, y.value);
}

template <nn::ComparePredicate predicate> LogicalResult buildCompare(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, 2);
  if (failed(tensors))
    return failure();
  Tensor result = compare(node, predicate, (*tensors)[0], (*tensors)[1]);
  if (predicate == nn::ComparePredicate::eq)
    result.contents = combine(node.inputs[0]->tensors.front(), node.inputs[1]->tensors.front(), result, Dim::equal);
  return node.set(std::move(result));
}

/// One number of x's element type in x's shape.
Tensor like(NodeContext &node, const Tensor &x, double number) {
  return node.broadcastTo(node.splat(number, x.elementType()), x.shape, [&] { return node.shapeOf(x); });
}

Tensor select(NodeContext &node, const Tensor &condition, const Tensor &onTrue, const Tensor &onFalse) {
  return node.make<nn::SelectOp>(onTrue.shape, onTrue.elementType(), condition.value, onTrue.value,
                                 onFalse.value);
}

template <typename OpTy> LogicalResult buildVariadic(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, node.inputs.size());
  if (failed(tensors))
    return failure();
  Tensor result = tensors->front();
  for (const Tensor &tensor : ArrayRef(*tensors).drop_front())
    result = node.binary<OpTy>(result, tensor);
  return node.set(std::move(result));
}

LogicalResult buildMean(NodeContext &node) {
  if (failed(buildVariadic<nn::AddOp>(node)))
    return failure();
  Tensor sum = node.results.front().tensors.front();
  return node.set(node.binary<nn::DivOp>(sum, like(node, sum, static_cast<double>(node.inputs.size()))));
}

/// The exponent may have another element type than the base.
LogicalResult buildPow(NodeContext &node) {
  FailureOr<Tensor> base = node.input(0), exponent = node.input(1);
  if (failed(base) || failed(exponent))
    return failure();
  Tensor pair[] = {*base, node.cast(*exponent, base->elementType())};
  if (failed(node.broadcast(pair)))
    return failure();
  return node.set(node.binary<nn::PowOp>(pair[0], pair[1]));
}

/// C's remainder for `fmod`; else the result has the divisor's sign.
LogicalResult buildMod(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, 2);
  if (failed(tensors))
    return failure();
  Tensor &x = (*tensors)[0], &y = (*tensors)[1];
  Tensor remainder = node.binary<nn::RemOp>(x, y);
  if (node.intAttribute("fmod", 0))
    return node.set(std::move(remainder));
  if (isa<FloatType>(x.elementType()))
    return node.error() << "needs fmod=1 for " << x.type();
  Tensor zero = like(node, x, 0);
  Tensor differ = node.binary<nn::XorOp>(compare(node, nn::ComparePredicate::lt, remainder, zero),
                                         compare(node, nn::ComparePredicate::lt, y, zero));
  Tensor wrong = node.binary<nn::AndOp>(differ, compare(node, nn::ComparePredicate::ne, remainder, zero));
  return node.set(select(node, wrong, node.binary<nn::AddOp>(remainder, y), remainder));
}

/// The known elements of a choice between two small integer tensors.
std::optional<Dims> choose(const Tensor &condition, const Tensor &onTrue, const Tensor &onFalse,
                           const Tensor &result) {
  if (!condition.contents || !onTrue.contents || !onFalse.contents || result.rank() > 1)
    return std::nullopt;
  size_t size = 1;
  for (const Tensor *tensor : {&condition, &onTrue, &onFalse}) {
    if (tensor->contents->empty())
      return std::nullopt;
    size = std::max(size, tensor->contents->size());
  }
  auto at = [](const Tensor &tensor, size_t i) {
    return (*tensor.contents)[tensor.contents->size() == 1 ? 0 : i];
  };
  Dims elements;
  for (size_t i = 0; i < size; ++i)
    elements.push_back(at(condition, i).is(0) ? at(onFalse, i) : at(onTrue, i));
  return elements;
}

LogicalResult buildWhere(NodeContext &node) {
  FailureOr<Tensor> condition = node.input(0), onTrue = node.input(1), onFalse = node.input(2);
  if (failed(condition) || failed(onTrue) || failed(onFalse))
    return failure();
  if (onTrue->elementType() != onFalse->elementType())
    return node.error() << "inputs have different element types: " << onTrue->type() << " and "
                        << onFalse->type();
  Tensor tensors[] = {*condition, *onTrue, *onFalse};
  if (failed(node.broadcast(tensors)))
    return failure();
  Tensor result = select(node, tensors[0], tensors[1], tensors[2]);
  result.contents = choose(*condition, *onTrue, *onFalse, result);
  return node.set(std::move(result));
}

LogicalResult buildIsNaN(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  return failed(x) ? failure() : node.set(compare(node, nn::ComparePredicate::ne, *x, *x));
}

LogicalResult castTo(NodeContext &node, Type element) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  Tensor result = node.cast(*x, element);
  if (!result.contents && x->contents && element.isSignlessInteger() && !element.isInteger(1) &&
      llvm::all_of(*x->contents, [&](const Dim &dim) {
        return !dim.isStatic() || llvm::isIntN(element.getIntOrFloatBitWidth(), dim.value());
      }))
    result.contents = x->contents;
  return node.set(std::move(result));
}

LogicalResult buildCast(NodeContext &node) {
  FailureOr<Type> element = node.elementType(static_cast<int>(node.intAttribute("to", 0)));
  return failed(element) ? failure() : castTo(node, *element);
}

LogicalResult buildCastLike(NodeContext &node) {
  FailureOr<Tensor> like = node.input(1);
  return failed(like) ? failure() : castTo(node, like->elementType());
}

LogicalResult buildIdentity(NodeContext &node) {
  if (!node.has(0))
    return node.error() << "input 0 is missing";
  node.results.front() = *node.inputs[0];
  return success();
}

/// Exported models are traced for inference or have ratio 0; a dropout that really drops is refused.
LogicalResult buildDropout(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  double ratio = node.floatAttribute("ratio", 0.5);
  bool trains = false;
  if (node.has(1)) {
    FailureOr<Tensor> given = node.input(1);
    if (failed(given))
      return failure();
    ratio = node.scalarConstant(*given).value_or(0.5);
  }
  if (node.has(2)) {
    FailureOr<Tensor> given = node.input(2);
    if (failed(given))
      return failure();
    trains = node.scalarConstant(*given).value_or(1) != 0;
  }
  if (trains && ratio != 0)
    return node.error() << "training with dropout ratio " << ratio
                        << " is not supported: export with ratio 0";
  return node.set(*x);
}

/// A bound of Clip: none, or an input (an attribute before opset 11) in x's shape.
FailureOr<std::optional<Tensor>> clipBound(NodeContext &node, const Tensor &x, unsigned index,
                                           StringRef name) {
  if (node.opset < 11) {
    if (!node.attribute(name))
      return std::optional<Tensor>();
    return std::optional(like(node, x, node.floatAttribute(name, 0)));
  }
  if (!node.has(index))
    return std::optional<Tensor>();
  FailureOr<Tensor> bound = node.input(index);
  if (failed(bound))
    return failure();
  return std::optional(node.broadcastTo(*bound, x.shape, [&] { return node.shapeOf(x); }));
}

LogicalResult buildClip(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<std::optional<Tensor>> low = clipBound(node, *x, 1, "min"), high = clipBound(node, *x, 2, "max");
  if (failed(low) || failed(high))
    return failure();
  Tensor result = *x;
  if (*low)
    result = node.binary<nn::MaxOp>(result, **low);
  if (*high)
    result = node.binary<nn::MinOp>(result, **high);
  return node.set(std::move(result));
}

LogicalResult buildGelu(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  std::string kind = node.stringAttribute("approximate", "none");
  if (kind != "none" && kind != "tanh")
    return node.error() << "approximate='" << kind << "' is not supported";
  return node.set(node.make<nn::GeluOp>(x->shape, x->elementType(),
                                        kind == "tanh" ? nn::GeluKind::tanh : nn::GeluKind::none, x->value));
}

LogicalResult buildLeakyRelu(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  Tensor negative = node.binary<nn::MulOp>(*x, like(node, *x, node.floatAttribute("alpha", 0.01f)));
  return node.set(select(node, compare(node, nn::ComparePredicate::lt, *x, like(node, *x, 0)), negative, *x));
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow.
LogicalResult buildSoftplus(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  Tensor small = node.unary<nn::ExpOp>(node.unary<nn::NegOp>(node.unary<nn::AbsOp>(*x)));
  Tensor log = node.unary<nn::LogOp>(node.binary<nn::AddOp>(small, like(node, *x, 1)));
  return node.set(node.binary<nn::AddOp>(node.unary<nn::ReluOp>(*x), log));
}

/// x * sigmoid(alpha x)
LogicalResult buildSwish(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  double alpha = node.floatAttribute("alpha", 1);
  Tensor scaled = alpha == 1 ? *x : node.binary<nn::MulOp>(*x, like(node, *x, alpha));
  return node.set(node.binary<nn::MulOp>(*x, node.unary<nn::SigmoidOp>(scaled)));
}

constexpr OperatorRow rows[] = {
    {"Abs", 6, kNewestOpset, buildUnary<nn::AbsOp>},
    {"Add", 7, kNewestOpset, buildBinary<nn::AddOp, Dim::add>},
    {"And", 7, kNewestOpset, buildLogical<nn::AndOp>},
    {"BitwiseAnd", 18, kNewestOpset, buildLogical<nn::AndOp>},
    {"BitwiseNot", 18, kNewestOpset, buildNot},
    {"BitwiseOr", 18, kNewestOpset, buildLogical<nn::OrOp>},
    {"BitwiseXor", 18, kNewestOpset, buildLogical<nn::XorOp>},
    {"Cast", 9, kNewestOpset, buildCast},
    {"CastLike", 15, kNewestOpset, buildCastLike},
    {"Ceil", 6, kNewestOpset, buildUnary<nn::CeilOp>},
    {"Clip", 6, kNewestOpset, buildClip},
    {"Cos", 7, kNewestOpset, buildUnary<nn::CosOp>},
    {"Div", 7, kNewestOpset, buildBinary<nn::DivOp, quotient>},
    {"Dropout", 7, kNewestOpset, buildDropout},
    {"Equal", 7, kNewestOpset, buildCompare<nn::ComparePredicate::eq>},
    {"Erf", 9, kNewestOpset, buildUnary<nn::ErfOp>},
    {"Exp", 6, kNewestOpset, buildUnary<nn::ExpOp>},
    {"Floor", 6, kNewestOpset, buildUnary<nn::FloorOp>},
    {"Gelu", 20, kNewestOpset, buildGelu},
    {"Greater", 7, kNewestOpset, buildCompare<nn::ComparePredicate::gt>},
    {"GreaterOrEqual", 12, kNewestOpset, buildCompare<nn::ComparePredicate::ge>},
    {"Identity", 1, kNewestOpset, buildIdentity},
    {"IsNaN", 9, kNewestOpset, buildIsNaN},
    {"LeakyRelu", 6, kNewestOpset, buildLeakyRelu},
    {"Less", 7, kNewestOpset, buildCompare<nn::ComparePredicate::lt>},
    {"LessOrEqual", 12, kNewestOpset, buildCompare<nn::ComparePredicate::le>},
    {"Log", 6, kNewestOpset, buildUnary<nn::LogOp>},
    {"Max", 8, kNewestOpset, buildVariadic<nn::MaxOp>},
    {"Mean", 8, kNewestOpset, buildMean},
    {"Min", 8, kNewestOpset, buildVariadic<nn::MinOp>},
    {"Mod", 10, kNewestOpset, buildMod},
    {"Mul", 7, kNewestOpset, buildBinary<nn::MulOp, Dim::multiply>},
    {"Neg", 6, kNewestOpset, buildUnary<nn::NegOp>},
    {"Not", 1, kNewestOpset, buildNot},
    {"Or", 7, kNewestOpset, buildLogical<nn::OrOp>},
    {"Pow", 7, kNewestOpset, buildPow},
    {"Reciprocal", 6, kNewestOpset, buildUnary<nn::ReciprocalOp>},
    {"Relu", 6, kNewestOpset, buildUnary<nn::ReluOp>},
    {"Round", 11, kNewestOpset, buildUnary<nn::RoundOp>},
    {"Sigmoid", 6, kNewestOpset, buildUnary<nn::SigmoidOp>},
    {"Sign", 9, kNewestOpset, buildUnary<nn::SignOp>},
    {"Sin", 7, kNewestOpset, buildUnary<nn::SinOp>},
    {"Softplus", 1, kNewestOpset, buildSoftplus},
    {"Sqrt", 6, kNewestOpset, buildUnary<nn::SqrtOp>},
    {"Sub", 7, kNewestOpset, buildBinary<nn::SubOp, Dim::subtract>},
    {"Sum", 8, kNewestOpset, buildVariadic<nn::AddOp>},
    {"Swish", 24, kNewestOpset, buildSwish},
    {"Tanh", 6, kNewestOpset, buildUnary<nn::TanhOp>},
    {"Where", 9, kNewestOpset, buildWhere},
    {"Xor", 7, kNewestOpset, buildLogical<nn::XorOp>},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::elementwiseOperators() { return rows; }
