//===- Activations.cpp - Activation functions -----------------------------===//
//
// The branch that a select does not take is computed on a number that keeps it finite: its gradient is
// multiplied by 0. At a corner, which zeros meet, the gradient is PyTorch's (2.15): below 0 and at 0 a leaky ReLU's is its slope, at a bound a
// clip's is 0.
//
//===----------------------------------------------------------------------===//
#include "Formula.h"
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

using P = nn::ComparePredicate;

/// max(x, 0), of integers too.
LogicalResult buildRelu(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  if (isa<FloatType>(x->elementType()))
    return node.set(node.unary<nn::ReluOp>(*x));
  if (x->elementType().isInteger(1))
    return node.error() << "needs numbers, not " << x->type();
  return node.set(node.binary<nn::MaxOp>(*x, Formula(node).like(*x, 0.0)));
}

LogicalResult buildSigmoid(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  return failed(x) ? failure() : node.set(node.unary<nn::SigmoidOp>(*x));
}

LogicalResult buildGelu(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  if (failed(x))
    return failure();
  std::string kind = node.stringAttribute("approximate", "none");
  if (kind != "none" && kind != "tanh")
    return node.error() << "approximate='" << kind << "' is not supported";
  return node.set(node.make<nn::GeluOp>(x->shape, x->elementType(),
                                        kind == "tanh" ? nn::GeluKind::tanh : nn::GeluKind::none, x->value));
}

/// positive(x) where x > 0, else scale (e^(x / width) - 1).
Tensor exponentialBelow(const Formula &f, const Tensor &x, const Tensor &positive, double scale,
                        double width) {
  Tensor isPositive = f.compare(P::gt, x, 0.0);
  Tensor below = f.select(isPositive, f.like(x, 0.0), x);
  return f.select(isPositive, positive, f.mul(f.unary<nn::Expm1Op>(f.div(below, width)), scale));
}

LogicalResult buildElu(NodeContext &node) {
  Formula f(node);
  return f.setFunction(
      [&](const Tensor &x) { return exponentialBelow(f, x, x, node.floatAttribute("alpha", 1), 1); });
}

LogicalResult buildCelu(NodeContext &node) {
  double alpha = node.floatAttribute("alpha", 1);
  if (alpha == 0)
    return node.error() << "alpha is 0";
  Formula f(node);
  return f.setFunction([&](const Tensor &x) { return exponentialBelow(f, x, x, alpha, alpha); });
}

LogicalResult buildSelu(NodeContext &node) {
  double alpha = node.floatAttribute("alpha", 1.67326319217681884765625f),
         gamma = node.floatAttribute("gamma", 1.05070102214813232421875f);
  Formula f(node);
  return f.setFunction(
      [&](const Tensor &x) { return exponentialBelow(f, x, f.mul(x, gamma), gamma * alpha, 1); });
}

/// alpha x + beta between 0 and 1.
Tensor hardSigmoid(const Formula &f, const Tensor &x, double alpha, double beta) {
  return f.clip(f.add(f.mul(x, alpha), beta), 0.0, 1.0);
}

LogicalResult buildHardSigmoid(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    return hardSigmoid(f, x, node.floatAttribute("alpha", 0.2f), node.floatAttribute("beta", 0.5));
  });
}

LogicalResult buildHardSwish(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) { return f.mul(x, hardSigmoid(f, x, 1.0 / 6, 0.5)); });
}

LogicalResult buildLeakyRelu(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  if (failed(x))
    return failure();
  Formula f(node);
  return node.set(f.select(f.compare(P::le, *x, 0.0), f.mul(*x, node.floatAttribute("alpha", 0.01f)), *x));
}

/// The slope has the shape of x or is repeated to it.
LogicalResult buildPRelu(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), slope = node.input(1);
  if (failed(x) || failed(slope))
    return failure();
  if (x->elementType() != slope->elementType() || x->elementType().isInteger(1))
    return node.error() << "needs numbers of one type, not " << x->type() << " and " << slope->type();
  Tensor pair[] = {*x, *slope};
  if (failed(node.broadcast(pair)))
    return failure();
  Formula f(node);
  return node.set(f.select(f.compare(P::le, pair[0], 0.0), f.mul(pair[1], pair[0]), pair[0]));
}

/// log(1 + e^x) = max(x, 0) + log1p(e^-|x|), which does not overflow.
Tensor softplus(const Formula &f, const Tensor &x) {
  Tensor isPositive = f.compare(P::gt, x, 0.0);
  Tensor e = f.unary<nn::ExpOp>(f.select(isPositive, f.neg(x), x));
  return f.add(f.unary<nn::ReluOp>(x), f.unary<nn::Log1pOp>(e));
}

LogicalResult buildSoftplus(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) { return softplus(f, x); });
}

LogicalResult buildMish(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) { return f.mul(x, f.unary<nn::TanhOp>(softplus(f, x))); });
}

LogicalResult buildSoftsign(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) { return f.div(x, f.add(f.unary<nn::AbsOp>(x), 1.0)); });
}

/// x * sigmoid(alpha x)
LogicalResult buildSwish(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    return f.mul(x, f.unary<nn::SigmoidOp>(f.mul(x, node.floatAttribute("alpha", 1))));
  });
}

LogicalResult buildThresholdedRelu(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  if (failed(x))
    return failure();
  Formula f(node);
  return node.set(f.select(f.compare(P::gt, *x, node.floatAttribute("alpha", 1)), *x, f.like(*x, 0.0)));
}

/// x + bias below -lambd, x - bias above lambd, else 0; of integers by way of f64.
LogicalResult buildShrink(NodeContext &node) {
  FailureOr<Tensor> input = node.input(0);
  if (failed(input))
    return failure();
  Type element = input->elementType();
  if (element.isInteger(1))
    return node.error() << "needs numbers, not " << input->type();
  double bias = node.floatAttribute("bias", 0), lambd = node.floatAttribute("lambd", 0.5);
  Formula f(node);
  Tensor x = isa<IntegerType>(element) ? node.cast(*input, node.builder.getF64Type()) : *input;
  Tensor above = f.select(f.compare(P::gt, x, lambd), f.add(x, -bias), f.like(x, 0.0));
  return node.set(node.cast(f.select(f.compare(P::lt, x, -lambd), f.add(x, bias), above), element));
}

/// A bound of Clip: none, or an input (an attribute before opset 11) in x's shape.
FailureOr<std::optional<Tensor>> clipBound(NodeContext &node, const Tensor &x, unsigned index,
                                           StringRef name) {
  if (node.opset < 11) {
    if (!node.attribute(name))
      return std::optional<Tensor>();
    return std::optional(Formula(node).like(x, node.floatAttribute(name, 0)));
  }
  if (!node.has(index))
    return std::optional<Tensor>();
  FailureOr<Tensor> bound = node.input(index);
  if (failed(bound))
    return failure();
  if (bound->elementType() != x.elementType()) {
    node.error() << "the bound '" << name << "' is a " << bound->type() << ", the input a " << x.type();
    return failure();
  }
  // A scalar; lists of one number are met too.
  if (bound->rank() == 1 && bound->shape[0].is(1))
    bound = node.reshape(*bound, {});
  if (bound->rank() != 0) {
    node.error() << "the bound '" << name << "' is a " << bound->type() << ", not a scalar";
    return failure();
  }
  return std::optional(node.broadcastTo(*bound, x.shape, [&] { return node.shapeOf(x); }));
}

LogicalResult buildClip(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<std::optional<Tensor>> low = clipBound(node, *x, 1, "min"), high = clipBound(node, *x, 2, "max");
  if (failed(low) || failed(high))
    return failure();
  // A bound that is met passes no gradient: a ReLU6 meets its bounds often, behind a convolution of nothing but zeros.
  Formula f(node);
  Tensor result = *x;
  if (*low)
    result = f.select(f.compare(P::le, result, **low), **low, result);
  if (*high)
    result = f.select(f.compare(P::ge, result, **high), **high, result);
  return node.set(std::move(result));
}

constexpr OperatorRow rows[] = {
    {"Celu", 12, kNewestOpset, buildCelu},
    {"Clip", 6, kNewestOpset, buildClip},
    {"Elu", 6, kNewestOpset, buildElu},
    {"Gelu", 20, kNewestOpset, buildGelu},
    {"HardSigmoid", 6, kNewestOpset, buildHardSigmoid},
    {"HardSwish", 14, kNewestOpset, buildHardSwish},
    {"LeakyRelu", 6, kNewestOpset, buildLeakyRelu},
    {"Mish", 18, kNewestOpset, buildMish},
    {"PRelu", 7, kNewestOpset, buildPRelu},
    {"Relu", 6, kNewestOpset, buildRelu},
    {"Selu", 6, kNewestOpset, buildSelu},
    {"Shrink", 9, kNewestOpset, buildShrink},
    {"Sigmoid", 6, kNewestOpset, buildSigmoid},
    {"Softplus", 1, kNewestOpset, buildSoftplus},
    {"Softsign", 1, kNewestOpset, buildSoftsign},
    {"Swish", 24, kNewestOpset, buildSwish},
    {"ThresholdedRelu", 10, kNewestOpset, buildThresholdedRelu},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::activationOperators() { return rows; }
