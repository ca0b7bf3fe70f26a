//===- Training.cpp - ai.onnx.preview.training: optimizers as formulas ----===//
//
// Elementwise formulas over any number of tensors: inputs are the rate, the number of updates done, then the
// tensors, their gradients and their states, each kind together; outputs are the new tensors and states.
//
//===----------------------------------------------------------------------===//
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// The inputs of one optimizer node, and arithmetic on one of its tensors at a time.
class Formula {
public:
  Formula(NodeContext &node, unsigned kinds) : node(node), kinds(kinds) {}

  /// Reads the rate and the count; a diagnostic if the inputs do not fit.
  LogicalResult begin() {
    size_t inputs = node.inputs.size();
    if (inputs < 2 + kinds || (inputs - 2) % kinds)
      return node.error() << "has " << inputs << " inputs, not 2 and " << kinds << " for each tensor";
    count = static_cast<unsigned>((inputs - 2) / kinds);
    if (node.results.size() > static_cast<size_t>(count) * (kinds - 1))
      return node.error() << "has " << node.results.size() << " outputs for " << count << " tensors";
    FailureOr<Tensor> r = node.input(0), t = node.input(1);
    if (failed(r) || failed(t))
      return failure();
    if (!isa<FloatType>(r->elementType()) || !t->elementType().isSignlessInteger(64) || !isOne(*r) ||
        !isOne(*t))
      return node.error() << "needs a rate of one float and a count of one int64, not " << r->type()
                          << " and " << t->type();
    rate = node.reshape(*r, {});
    updates = node.reshape(*t, {});
    return success();
  }

  /// Input of a kind (0: the tensors, 1: the gradients, then states) for one tensor.
  FailureOr<Tensor> operand(unsigned kind, unsigned index) {
    FailureOr<Tensor> tensor = node.input(2 + kind * count + index);
    if (failed(tensor))
      return failure();
    if (kind == 0)
      like = *tensor;
    if (tensor->shape != like.shape || tensor->elementType() != like.elementType() ||
        !isa<FloatType>(like.elementType())) {
      node.error() << "needs floats of one type, not " << like.type() << " and " << tensor->type();
      return failure();
    }
    return tensor;
  }

  Tensor number(double value) { return whole(node.splat(value, like.elementType())); }
  /// A number of the rate's kind, repeated.
  Tensor whole(const Tensor &scalar) {
    return node.broadcastTo(node.cast(scalar, like.elementType()), like.shape,
                            [&] { return node.shapeOf(like); });
  }
  Tensor scaled(double factor, const Tensor &x) { return mul(number(factor), x); }
  Tensor add(const Tensor &x, const Tensor &y) { return node.binary<nn::AddOp>(x, y); }
  Tensor sub(const Tensor &x, const Tensor &y) { return node.binary<nn::SubOp>(x, y); }
  Tensor mul(const Tensor &x, const Tensor &y) { return node.binary<nn::MulOp>(x, y); }
  Tensor div(const Tensor &x, const Tensor &y) { return node.binary<nn::DivOp>(x, y); }
  /// The gradient with the decay of the tensor.
  Tensor regularized(const Tensor &x, const Tensor &gradient) {
    return add(scaled(node.floatAttribute("norm_coefficient", 0), x), gradient);
  }
  /// One of two numbers: whether an update was done before.
  Tensor ifAny(const Tensor &some, const Tensor &none) {
    Tensor any = node.make<nn::CompareOp>({}, node.builder.getI1Type(), nn::ComparePredicate::gt,
                                          updates.value, node.splat(0, updates.elementType()).value);
    return node.make<nn::SelectOp>({}, some.elementType(), any.value, some.value, none.value);
  }
  Tensor scalar(double value) { return node.splat(value, rate.elementType()); }
  /// base ^ updates
  Tensor power(double base) {
    return node.binary<nn::PowOp>(scalar(base), node.cast(updates, rate.elementType()));
  }
  LogicalResult set(unsigned kind, unsigned index, Tensor tensor) {
    return node.set(std::move(tensor), kind * count + index);
  }

  NodeContext &node;
  unsigned kinds, count = 0;
  Tensor rate, updates, like;

private:
  static bool isOne(const Tensor &tensor) {
    return llvm::all_of(tensor.shape, [](const Dim &dim) { return dim.is(1); });
  }
};

/// H' = H + g^2, X' = X - r / (1 + T decay) * g / (sqrt(H') + epsilon)
LogicalResult buildAdagrad(NodeContext &node) {
  Formula f(node, 3);
  if (failed(f.begin()))
    return failure();
  Tensor decay = f.add(f.scalar(1), f.mul(node.cast(f.updates, f.rate.elementType()),
                                          f.scalar(node.floatAttribute("decay_factor", 0))));
  Tensor rate = f.div(f.rate, decay);
  for (unsigned i = 0; i < f.count; ++i) {
    FailureOr<Tensor> x = f.operand(0, i), gradient = failure(), state = failure();
    if (failed(x) || failed(gradient = f.operand(1, i)) || failed(state = f.operand(2, i)))
      return failure();
    Tensor g = f.regularized(*x, *gradient), squares = f.add(*state, f.mul(g, g));
    Tensor root = f.add(node.unary<nn::SqrtOp>(squares), f.number(node.floatAttribute("epsilon", 0)));
    Tensor next = f.sub(*x, f.div(f.mul(f.whole(rate), g), root));
    if (failed(f.set(0, i, next)) || failed(f.set(1, i, squares)))
      return failure();
  }
  return success();
}

/// V' = a V + (1 - a) g, H' = b H + (1 - b) g^2, X' = X - r' V' / (sqrt(H') + epsilon), with the rate
/// corrected for the first updates.
LogicalResult buildAdam(NodeContext &node) {
  Formula f(node, 4);
  if (failed(f.begin()))
    return failure();
  double alpha = node.floatAttribute("alpha", 0.9f), beta = node.floatAttribute("beta", 0.999f);
  Tensor corrected = f.div(f.mul(f.rate, node.unary<nn::SqrtOp>(f.sub(f.scalar(1), f.power(beta)))),
                           f.sub(f.scalar(1), f.power(alpha)));
  Tensor rate = f.ifAny(corrected, f.rate);
  for (unsigned i = 0; i < f.count; ++i) {
    FailureOr<Tensor> x = f.operand(0, i), gradient = failure(), first = failure(), second = failure();
    if (failed(x) || failed(gradient = f.operand(1, i)) || failed(first = f.operand(2, i)) ||
        failed(second = f.operand(3, i)))
      return failure();
    Tensor g = f.regularized(*x, *gradient);
    Tensor v = f.add(f.scaled(alpha, *first), f.scaled(1 - alpha, g));
    Tensor h = f.add(f.scaled(beta, *second), f.scaled(1 - beta, f.mul(g, g)));
    Tensor root = f.add(node.unary<nn::SqrtOp>(h), f.number(node.floatAttribute("epsilon", 0)));
    Tensor next = f.sub(*x, f.div(f.mul(f.whole(rate), v), root));
    next = f.scaled(1 - node.floatAttribute("norm_coefficient_post", 0), next);
    if (failed(f.set(0, i, next)) || failed(f.set(1, i, v)) || failed(f.set(2, i, h)))
      return failure();
  }
  return success();
}

/// V' = a V + b g (b is 1 at the first update), X' = X - r V', or X - r (g + a V') for Nesterov's.
LogicalResult buildMomentum(NodeContext &node) {
  Formula f(node, 3);
  if (failed(f.begin()))
    return failure();
  std::string mode = node.stringAttribute("mode", "");
  if (mode != "standard" && mode != "nesterov")
    return node.error() << "mode '" << mode << "' is neither 'standard' nor 'nesterov'";
  double alpha = node.floatAttribute("alpha", 0);
  Tensor beta = f.ifAny(f.scalar(node.floatAttribute("beta", 1)), f.scalar(1));
  for (unsigned i = 0; i < f.count; ++i) {
    FailureOr<Tensor> x = f.operand(0, i), gradient = failure(), state = failure();
    if (failed(x) || failed(gradient = f.operand(1, i)) || failed(state = f.operand(2, i)))
      return failure();
    Tensor g = f.regularized(*x, *gradient);
    Tensor v = f.add(f.scaled(alpha, *state), f.mul(f.whole(beta), g));
    Tensor step = mode == "standard" ? v : f.add(g, f.scaled(alpha, v));
    if (failed(f.set(0, i, f.sub(*x, f.mul(f.whole(f.rate), step)))) || failed(f.set(1, i, v)))
      return failure();
  }
  return success();
}

constexpr OperatorRow rows[] = {
    {"ai.onnx.preview.training.Adagrad", 1, 1, buildAdagrad},
    {"ai.onnx.preview.training.Adam", 1, 1, buildAdam},
    {"ai.onnx.preview.training.Momentum", 1, 1, buildMomentum},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::trainingOperators() { return rows; }
