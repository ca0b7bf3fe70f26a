//===- Elementwise.cpp - Arithmetic, comparisons, logic, casts ------------===//
#include "EmbeddingGradient.h"
#include "Formula.h"
#include "OperatorTable.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

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
  FailureOr<Tensor> x = node.input(0), y = node.input(1);
  Tensor result = node.binary<OpTy>((*tensors)[0], (*tensors)[1]);
  result.contents = combine(*x, *y, result, function);
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

LogicalResult buildNot(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  if (isa<FloatType>(x->elementType()))
    return node.error() << "needs integers or booleans, not " << x->type();
  return node.set(node.unary<nn::NotOp>(*x));
}

LogicalResult buildBitShift(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, 2);
  if (failed(tensors))
    return failure();
  if (isa<FloatType>(tensors->front().elementType()) || tensors->front().elementType().isInteger(1))
    return node.error() << "needs integers, not " << tensors->front().type();
  std::string direction = node.stringAttribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return node.error() << "direction='" << direction << "' is neither LEFT nor RIGHT";
  Tensor &x = (*tensors)[0], &y = (*tensors)[1];
  return node.set(direction == "LEFT" ? node.binary<nn::ShiftLeftOp>(x, y)
                                      : node.binary<nn::ShiftRightOp>(x, y));
}

/// Whether a predicate holds of two elements, where that is known for every batch: exporters ask whether a
/// size is -1.
template <nn::ComparePredicate predicate> std::optional<Dim> holds(const Dim &a, const Dim &b) {
  int64_t x = 0, y = 0; // stand for the elements, in their order
  if (a.isStatic() && b.isStatic())
    x = a.value(), y = b.value();
  else if (a.isNonNegative() && b.isStatic() && b.value() < 0)
    x = 1;
  else if (b.isNonNegative() && a.isStatic() && a.value() < 0)
    y = 1;
  else if (a != b)
    return std::nullopt;
  switch (predicate) {
  case nn::ComparePredicate::eq:
    return Dim(x == y);
  case nn::ComparePredicate::ne:
    return Dim(x != y);
  case nn::ComparePredicate::lt:
    return Dim(x < y);
  case nn::ComparePredicate::le:
    return Dim(x <= y);
  case nn::ComparePredicate::gt:
    return Dim(x > y);
  case nn::ComparePredicate::ge:
    return Dim(x >= y);
  }
  return std::nullopt;
}

template <nn::ComparePredicate predicate> LogicalResult buildCompare(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), y = node.input(1);
  FailureOr<SmallVector<Tensor>> tensors = failure();
  if (failed(x) || failed(y) || failed(tensors = broadcastInputs(node, 2)))
    return failure();
  Tensor result = Formula(node).compare(predicate, (*tensors)[0], (*tensors)[1]);
  result.contents = combine(*x, *y, result, holds<predicate>);
  return node.set(std::move(result));
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
  return node.set(Formula(node).div(sum, static_cast<double>(node.inputs.size())));
}

/// The exponent may have another element type than the base, which is that of the result. Integers to the
/// power of floats are computed in f64, to the power of wider integers in their type.
LogicalResult buildPow(NodeContext &node) {
  FailureOr<Tensor> base = node.input(0), exponent = node.input(1);
  if (failed(base) || failed(exponent))
    return failure();
  Type element = base->elementType(), compute = element, other = exponent->elementType();
  if (element.isInteger(1) || other.isInteger(1))
    return node.error() << "needs numbers, not " << base->type() << " and " << exponent->type();
  if (isa<IntegerType>(element) && isa<FloatType>(other))
    compute = node.builder.getF64Type();
  else if (isa<IntegerType>(element) && other.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    compute = other;
  Tensor pair[] = {node.cast(*base, compute), node.cast(*exponent, compute)};
  if (failed(node.broadcast(pair)))
    return failure();
  return node.set(node.cast(node.binary<nn::PowOp>(pair[0], pair[1]), element));
}

/// The remainder with the divisor's sign, of plain numbers.
std::optional<Dim> modulo(const Dim &a, const Dim &b) {
  if (!a.isStatic() || !b.isStatic() || b.value() == 0 || b.value() == -1)
    return std::nullopt;
  int64_t remainder = a.value() % b.value();
  return Dim(remainder != 0 && (remainder < 0) != (b.value() < 0) ? remainder + b.value() : remainder);
}

/// C's remainder for `fmod`; else the result has the divisor's sign, from operator set 28 on of floats too.
LogicalResult buildMod(NodeContext &node) {
  FailureOr<SmallVector<Tensor>> tensors = broadcastInputs(node, 2);
  if (failed(tensors))
    return failure();
  Tensor &x = (*tensors)[0], &y = (*tensors)[1];
  Tensor remainder = node.binary<nn::RemOp>(x, y);
  if (node.intAttribute("fmod", 0))
    return node.set(std::move(remainder));
  if (isa<FloatType>(x.elementType()) && node.opset < 28)
    return node.error() << "needs fmod=1 for " << x.type();
  Formula f(node);
  Tensor differ = f.binary<nn::XorOp>(f.compare(nn::ComparePredicate::lt, remainder, 0.0),
                                      f.compare(nn::ComparePredicate::lt, y, 0.0));
  Tensor wrong = f.binary<nn::AndOp>(differ, f.compare(nn::ComparePredicate::ne, remainder, 0.0));
  Tensor result = f.select(wrong, f.add(remainder, y), remainder);
  result.contents = combine(node.inputs[0]->tensors.front(), node.inputs[1]->tensors.front(), result, modulo);
  return node.set(std::move(result));
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
  Tensor result = Formula(node).select(tensors[0], tensors[1], tensors[2]);
  result.contents = choose(*condition, *onTrue, *onFalse, result);
  return node.set(std::move(result));
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
  for (Tensor &tensor : node.results.front().tensors)
    tensor = keepDetached(node, tensor);
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
  if (trains && ratio != 0) {
    std::string number;
    llvm::raw_string_ostream(number) << llvm::format("%g", ratio);
    return node.error() << "training with dropout ratio " << number
                        << " is not supported: export with ratio 0, or after model.eval()";
  }
  // What is kept: everything. Before opset 10 the mask had the type of the data.
  if (node.results.size() > 1) {
    Type element = node.opset < 10 ? x->elementType() : Type(node.builder.getI1Type());
    Tensor mask = node.broadcastTo(node.splat(1, element), x->shape, [&] { return node.shapeOf(*x); });
    if (failed(node.set(std::move(mask), 1)))
      return failure();
  }
  return node.set(*x);
}

constexpr OperatorRow rows[] = {
    {"Add", 7, kNewestOpset, buildBinary<nn::AddOp, Dim::add>},
    {"And", 7, kNewestOpset, buildLogical<nn::AndOp>},
    {"BitShift", 11, kNewestOpset, buildBitShift},
    {"BitwiseAnd", 18, kNewestOpset, buildLogical<nn::AndOp>},
    {"BitwiseNot", 18, kNewestOpset, buildNot},
    {"BitwiseOr", 18, kNewestOpset, buildLogical<nn::OrOp>},
    {"BitwiseXor", 18, kNewestOpset, buildLogical<nn::XorOp>},
    {"Cast", 6, kNewestOpset, buildCast},
    {"CastLike", 15, kNewestOpset, buildCastLike},
    {"Div", 7, kNewestOpset, buildBinary<nn::DivOp, quotient>},
    {"Dropout", 7, kNewestOpset, buildDropout},
    {"Equal", 7, kNewestOpset, buildCompare<nn::ComparePredicate::eq>},
    {"Greater", 7, kNewestOpset, buildCompare<nn::ComparePredicate::gt>},
    {"GreaterOrEqual", 12, kNewestOpset, buildCompare<nn::ComparePredicate::ge>},
    {"Identity", 1, kNewestOpset, buildIdentity},
    {"Less", 7, kNewestOpset, buildCompare<nn::ComparePredicate::lt>},
    {"LessOrEqual", 12, kNewestOpset, buildCompare<nn::ComparePredicate::le>},
    {"Max", 8, kNewestOpset, buildVariadic<nn::MaxOp>},
    {"Mean", 8, kNewestOpset, buildMean},
    {"Min", 8, kNewestOpset, buildVariadic<nn::MinOp>},
    {"Mod", 10, kNewestOpset, buildMod},
    {"Mul", 7, kNewestOpset, buildBinary<nn::MulOp, Dim::multiply>},
    {"Not", 1, kNewestOpset, buildNot},
    {"Or", 7, kNewestOpset, buildLogical<nn::OrOp>},
    {"Pow", 7, kNewestOpset, buildPow},
    {"Sub", 7, kNewestOpset, buildBinary<nn::SubOp, Dim::subtract>},
    {"Sum", 8, kNewestOpset, buildVariadic<nn::AddOp>},
    {"Where", 9, kNewestOpset, buildWhere},
    {"Xor", 7, kNewestOpset, buildLogical<nn::XorOp>},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::elementwiseOperators() { return rows; }
