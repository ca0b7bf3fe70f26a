//===- Functions.cpp - Elementary functions -------------------------------===//
//
// Those without an nn op are compositions that lose no digits and whose gradient is that of the function
// wherever it has one: |x| is select(x < 0, -x, x), whose slope at 0 is 1.
//
//===----------------------------------------------------------------------===//
#include "Formula.h"
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

using P = nn::ComparePredicate;

template <typename OpTy> LogicalResult buildFloat(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  return failed(x) ? failure() : node.set(node.unary<OpTy>(*x));
}

template <typename OpTy> LogicalResult buildNumber(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  if (x->elementType().isInteger(1))
    return node.error() << "needs numbers, not " << x->type();
  return node.set(node.unary<OpTy>(*x));
}

/// f(|x|) with the sign of x.
Tensor oddFunction(const Formula &f, const Tensor &x,
                   llvm::function_ref<Tensor(const Tensor &)> ofMagnitude) {
  Tensor isNegative = f.compare(P::lt, x, 0.0);
  Tensor y = ofMagnitude(f.select(isNegative, f.neg(x), x));
  return f.select(isNegative, f.neg(y), y);
}

// atan(x / sqrt((1 - x) (1 + x)))
LogicalResult buildAsin(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    Tensor cosine = f.unary<nn::SqrtOp>(f.mul(f.sub(1.0, x), f.add(x, 1.0)));
    return f.unary<nn::AtanOp>(f.div(x, cosine));
  });
}

// 2 atan(sqrt((1 - x) / (1 + x)))
LogicalResult buildAcos(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    Tensor half = f.unary<nn::AtanOp>(f.unary<nn::SqrtOp>(f.div(f.sub(1.0, x), f.add(x, 1.0))));
    return f.mul(half, 2.0);
  });
}

LogicalResult buildTan(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) { return f.div(f.unary<nn::SinOp>(x), f.unary<nn::CosOp>(x)); });
}

// ((e^x - 1) - (e^-x - 1)) / 2
LogicalResult buildSinh(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    return f.mul(f.sub(f.unary<nn::Expm1Op>(x), f.unary<nn::Expm1Op>(f.neg(x))), 0.5);
  });
}

LogicalResult buildCosh(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    return f.mul(f.add(f.unary<nn::ExpOp>(x), f.unary<nn::ExpOp>(f.neg(x))), 0.5);
  });
}

// a = |x|: log1p(a + a^2 / (1 + sqrt(a^2 + 1))), with both sides of the quotient divided by max(a, 1), so
// that no square overflows.
LogicalResult buildAsinh(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    return oddFunction(f, x, [&](const Tensor &a) {
      Tensor one = f.like(a, 1.0), larger = f.select(f.compare(P::gt, a, one), a, one);
      Tensor c = f.div(a, larger), d = f.div(one, larger);
      Tensor root = f.unary<nn::SqrtOp>(f.add(f.mul(c, c), f.mul(d, d)));
      return f.unary<nn::Log1pOp>(f.add(a, f.div(f.mul(a, c), f.add(d, root))));
    });
  });
}

// t = x - 1: log1p(t + sqrt(t) sqrt(t + 2))
LogicalResult buildAcosh(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    Tensor t = f.add(x, -1.0);
    Tensor root = f.mul(f.unary<nn::SqrtOp>(t), f.unary<nn::SqrtOp>(f.add(t, 2.0)));
    return f.unary<nn::Log1pOp>(f.add(t, root));
  });
}

// a = |x|: log1p(2 a / (1 - a)) / 2
LogicalResult buildAtanh(NodeContext &node) {
  Formula f(node);
  return f.setFunction([&](const Tensor &x) {
    return oddFunction(f, x, [&](const Tensor &a) {
      return f.mul(f.unary<nn::Log1pOp>(f.div(f.mul(a, 2.0), f.sub(1.0, a))), 0.5);
    });
  });
}

LogicalResult buildIsNaN(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  return failed(x) ? failure() : node.set(Formula(node).compare(P::ne, *x, *x));
}

LogicalResult buildIsInf(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  if (failed(x))
    return failure();
  Formula f(node);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool positive = node.intAttribute("detect_positive", 1) != 0,
       negative = node.intAttribute("detect_negative", 1) != 0;
  if (positive && negative)
    return node.set(f.compare(P::eq, f.unary<nn::AbsOp>(*x), infinity));
  if (!positive && !negative)
    return node.set(f.compare(P::lt, *x, -infinity)); // nowhere
  return node.set(f.compare(P::eq, *x, positive ? infinity : -infinity));
}

constexpr OperatorRow rows[] = {
    {"Abs", 6, kNewestOpset, buildNumber<nn::AbsOp>},
    {"Acos", 7, kNewestOpset, buildAcos},
    {"Acosh", 9, kNewestOpset, buildAcosh},
    {"Asin", 7, kNewestOpset, buildAsin},
    {"Asinh", 9, kNewestOpset, buildAsinh},
    {"Atan", 7, kNewestOpset, buildFloat<nn::AtanOp>},
    {"Atanh", 9, kNewestOpset, buildAtanh},
    {"Ceil", 6, kNewestOpset, buildFloat<nn::CeilOp>},
    {"Cos", 7, kNewestOpset, buildFloat<nn::CosOp>},
    {"Cosh", 9, kNewestOpset, buildCosh},
    {"Erf", 9, kNewestOpset, buildFloat<nn::ErfOp>},
    {"Exp", 6, kNewestOpset, buildFloat<nn::ExpOp>},
    {"Floor", 6, kNewestOpset, buildFloat<nn::FloorOp>},
    {"IsInf", 10, kNewestOpset, buildIsInf},
    {"IsNaN", 9, kNewestOpset, buildIsNaN},
    {"Log", 6, kNewestOpset, buildFloat<nn::LogOp>},
    {"Neg", 6, kNewestOpset, buildNumber<nn::NegOp>},
    {"Reciprocal", 6, kNewestOpset, buildFloat<nn::ReciprocalOp>},
    {"Round", 11, kNewestOpset, buildFloat<nn::RoundOp>},
    {"Sign", 9, kNewestOpset, buildNumber<nn::SignOp>},
    {"Sin", 7, kNewestOpset, buildFloat<nn::SinOp>},
    {"Sinh", 9, kNewestOpset, buildSinh},
    {"Sqrt", 6, kNewestOpset, buildFloat<nn::SqrtOp>},
    {"Tan", 7, kNewestOpset, buildTan},
    {"Tanh", 6, kNewestOpset, buildFloat<nn::TanhOp>},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::functionOperators() { return rows; }
