//===- CellActivation.cpp - The activations inside recurrent operators ----===//
#include "CellActivation.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

using Kind = CellActivation::Kind;

/// An activation's numbers and what they are where the node gives none: the defaults of the operator of that
/// name. Affine and ScaledTanh are no operators: their numbers must be given.
struct Row {
  StringLiteral name;
  Kind kind;
  bool hasAlpha = false, hasBeta = false, hasDefaults = true;
  float alpha = 0, beta = 0;
};

constexpr Row rows[] = {
    {"Sigmoid", Kind::Sigmoid},
    {"Tanh", Kind::Tanh},
    {"Relu", Kind::Relu},
    {"Affine", Kind::Affine, true, true, false},
    {"LeakyRelu", Kind::LeakyRelu, true, false, true, 0.01f},
    {"ThresholdedRelu", Kind::ThresholdedRelu, true, false, true, 1.0f},
    {"ScaledTanh", Kind::ScaledTanh, true, true, false},
    {"HardSigmoid", Kind::HardSigmoid, true, true, true, 0.2f, 0.5f},
    {"Elu", Kind::Elu, true, false, true, 1.0f},
    {"Softsign", Kind::Softsign},
    {"Softplus", Kind::Softplus},
};

/// The next number of a list; the default behind its end, a diagnostic if there is none.
FailureOr<double> takeNumber(NodeContext &node, SmallVector<double> &numbers, StringRef list, const Row &row,
                             float otherwise) {
  if (!numbers.empty()) {
    double number = numbers.front();
    numbers.erase(numbers.begin());
    return number;
  }
  if (row.hasDefaults)
    return static_cast<double>(otherwise);
  node.error() << "activation '" << row.name << "' has no number in " << list << " and no default";
  return failure();
}

SmallVector<double> floats(NodeContext &node, StringRef name) {
  SmallVector<double> numbers;
  if (const onnx::AttributeProto *list = node.attribute(name))
    for (float number : list->floats())
      numbers.push_back(static_cast<double>(number));
  return numbers;
}

} // namespace

Tensor CellActivation::operator()(GraphBuilder &b, const Tensor &x) const {
  auto number = [&](double value) {
    return b.broadcastTo(b.splat(value, x.elementType()), x.shape, [&] { return b.shapeOf(x); });
  };
  auto choose = [&](nn::ComparePredicate predicate, double bound, const Tensor &then,
                    const Tensor &otherwise) {
    Tensor condition =
        b.make<nn::CompareOp>(x.shape, b.builder.getI1Type(), predicate, x.value, number(bound).value);
    return b.make<nn::SelectOp>(x.shape, x.elementType(), condition.value, then.value, otherwise.value);
  };
  auto times = [&](const Tensor &y, double factor) { return b.binary<nn::MulOp>(y, number(factor)); };
  auto plus = [&](const Tensor &y, double addend) { return b.binary<nn::AddOp>(y, number(addend)); };
  switch (kind) {
  case Kind::Sigmoid:
    return b.unary<nn::SigmoidOp>(x);
  case Kind::Tanh:
    return b.unary<nn::TanhOp>(x);
  case Kind::Relu:
    return b.unary<nn::ReluOp>(x);
  case Kind::Affine:
    return plus(times(x, alpha), beta);
  case Kind::LeakyRelu:
    return choose(nn::ComparePredicate::ge, 0, x, times(x, alpha));
  case Kind::ThresholdedRelu:
    // The operator keeps x > alpha; the text of the recurrent operators says x >= alpha, and so does this.
    return choose(nn::ComparePredicate::ge, alpha, x, number(0));
  case Kind::ScaledTanh:
    return times(b.unary<nn::TanhOp>(times(x, beta)), alpha);
  case Kind::HardSigmoid:
    return b.binary<nn::MinOp>(b.binary<nn::MaxOp>(plus(times(x, alpha), beta), number(0)), number(1));
  case Kind::Elu: {
    // Only what is below 0 goes through the exponential: elsewhere it might overflow.
    Tensor below = b.binary<nn::MinOp>(x, number(0));
    return choose(nn::ComparePredicate::ge, 0, x, times(plus(b.unary<nn::ExpOp>(below), -1), alpha));
  }
  case Kind::Softsign:
    return b.binary<nn::DivOp>(x, plus(b.unary<nn::AbsOp>(x), 1));
  case Kind::Softplus: {
    // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow.
    Tensor small = b.unary<nn::ExpOp>(b.unary<nn::NegOp>(b.unary<nn::AbsOp>(x)));
    return b.binary<nn::AddOp>(b.unary<nn::ReluOp>(x), b.unary<nn::LogOp>(plus(small, 1)));
  }
  }
  llvm_unreachable("all kinds are above");
}

FailureOr<SmallVector<CellActivation>>
zero::onnx_import::readActivations(NodeContext &node, ArrayRef<StringRef> names, int64_t directions) {
  SmallVector<StringRef> listed;
  const onnx::AttributeProto *list = node.attribute("activations");
  if (list && list->strings_size()) {
    for (const std::string &name : list->strings())
      listed.push_back(name);
  } else {
    for (int64_t i = 0; i < directions; ++i)
      llvm::append_range(listed, names);
  }
  size_t expected = names.size() * static_cast<size_t>(directions);
  if (listed.size() != expected) {
    node.error() << "lists " << listed.size() << " activations, not " << expected;
    return failure();
  }
  SmallVector<double> alphas = floats(node, "activation_alpha"), betas = floats(node, "activation_beta");
  SmallVector<CellActivation> result;
  for (StringRef name : listed) {
    const Row *row = llvm::find_if(rows, [&](const Row &row) { return name.equals_insensitive(row.name); });
    if (row == std::end(rows)) {
      node.error() << "activation '" << name << "' is not supported";
      return failure();
    }
    CellActivation activation{row->kind};
    if (row->hasAlpha) {
      FailureOr<double> alpha = takeNumber(node, alphas, "activation_alpha", *row, row->alpha);
      if (failed(alpha))
        return failure();
      activation.alpha = *alpha;
    }
    if (row->hasBeta) {
      FailureOr<double> beta = takeNumber(node, betas, "activation_beta", *row, row->beta);
      if (failed(beta))
        return failure();
      activation.beta = *beta;
    }
    result.push_back(activation);
  }
  return result;
}
