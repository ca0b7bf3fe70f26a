//===- GradientsElementwise.cpp - Gradient rules of elementwise ops -------===//
//
// Each rule is one line of calculus: y is the result, g the gradient of the loss by y, d x that by x.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"
#include "mlir/IR/Matchers.h"
#include <numbers>

using namespace mlir;
using namespace zero::nn;

using Gradients = SmallVector<Value>;

// The signature of a rule of one op, and its parts under short names.
#define RULE(OpName)                                                                                         \
  Gradients OpName::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed)
#define UNARY_RULE(OpName, EXPRESSION)                                                                       \
  RULE(OpName) {                                                                                             \
    TensorBuilder b(builder, getLoc());                                                                      \
    [[maybe_unused]] Value x = getOperand(), y = getResult(), g = resultGradients[0];                        \
    return {needed[0] ? (EXPRESSION) : Value()};                                                             \
  }

// d x = -g
UNARY_RULE(NegOp, b.neg(g))
// d x = g sign(x)
UNARY_RULE(AbsOp, b.mul(g, b.unary<SignOp>(x)))
// d x = g y
UNARY_RULE(ExpOp, b.mul(g, y))
// d x = g / x
UNARY_RULE(LogOp, b.div(g, x))
// d x = g / (1 + x)
UNARY_RULE(Log1pOp, b.div(g, b.add(x, 1.0)))
// d x = g e^x
UNARY_RULE(Expm1Op, b.mul(g, b.exp(x)))
// d x = g / (1 + x^2)
UNARY_RULE(AtanOp, b.div(g, b.add(b.mul(x, x), 1.0)))
// d x = g / (2 y)
UNARY_RULE(SqrtOp, b.div(g, b.mul(y, 2.0)))
// d x = -1/2 g y^3
UNARY_RULE(RsqrtOp, b.mul(b.mul(g, -0.5), b.mul(b.mul(y, y), y)))
// d x = -g y^2
UNARY_RULE(ReciprocalOp, b.mul(b.neg(g), b.mul(y, y)))
// d x = g (1 - y^2)
UNARY_RULE(TanhOp, b.mul(g, b.subFrom(1.0, b.mul(y, y))))
// d x = g y (1 - y)
UNARY_RULE(SigmoidOp, b.mul(g, b.mul(y, b.subFrom(1.0, y))))
// d x = g 2/sqrt(pi) exp(-x^2)
UNARY_RULE(ErfOp, b.mul(b.mul(g, 2.0 * std::numbers::inv_sqrtpi), b.exp(b.neg(b.mul(x, x)))))
// d x = g cos(x)
UNARY_RULE(SinOp, b.mul(g, b.unary<CosOp>(x)))
// d x = -g sin(x)
UNARY_RULE(CosOp, b.neg(b.mul(g, b.unary<SinOp>(x))))
// d x = y <= 0 ? 0 : g
UNARY_RULE(ReluOp, b.select(b.compare(ComparePredicate::le, y, 0.0), b.zerosLike(g), g))

// d x = g, d y = g
RULE(AddOp) {
  Value g = resultGradients[0];
  return {needed[0] ? g : Value(), needed[1] ? g : Value()};
}

// d x = g, d y = -g
RULE(SubOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  return {needed[0] ? g : Value(), needed[1] ? b.neg(g) : Value()};
}

// d x = g y, d y = g x
RULE(MulOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  Gradients gradients(2);
  if (needed[0])
    gradients[0] = b.mul(g, getRhs());
  if (needed[1])
    gradients[1] = b.mul(g, getLhs());
  return gradients;
}

// z = x / y: d x = g / y, d y = -g z / y
RULE(DivOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  Gradients gradients(2);
  if (needed[0])
    gradients[0] = b.div(g, getRhs());
  if (needed[1])
    gradients[1] = b.neg(b.mul(g, b.div(getResult(), getRhs())));
  return gradients;
}

// z = x - n y with n = trunc(x / y): d x = g, d y = -g n; the rounding mends what x / y and z have lost
RULE(RemOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  Gradients gradients(2);
  if (needed[0])
    gradients[0] = g;
  if (needed[1]) {
    Value quotient = b.unary<RoundOp>(b.div(b.sub(getLhs(), getResult()), getRhs()));
    gradients[1] = b.neg(b.mul(g, quotient));
  }
  return gradients;
}

/// d x = x loses ? 0 : x == y ? g / 2 : g, and d y likewise; a NaN passes the gradient on, as in PyTorch.
static Gradients extremeGradient(TensorBuilder b, Value x, Value y, Value g, ComparePredicate xLoses,
                                 ComparePredicate yLoses, ArrayRef<bool> needed) {
  Gradients gradients(2);
  if (!needed[0] && !needed[1])
    return gradients;
  Value shared = b.select(b.compare(ComparePredicate::eq, x, y), b.mul(g, 0.5), g);
  if (needed[0])
    gradients[0] = b.select(b.compare(xLoses, x, y), b.zerosLike(g), shared);
  if (needed[1])
    gradients[1] = b.select(b.compare(yLoses, x, y), b.zerosLike(g), shared);
  return gradients;
}

RULE(MaxOp) {
  return extremeGradient(TensorBuilder(builder, getLoc()), getLhs(), getRhs(), resultGradients[0],
                         ComparePredicate::lt, ComparePredicate::gt, needed);
}

RULE(MinOp) {
  return extremeGradient(TensorBuilder(builder, getLoc()), getLhs(), getRhs(), resultGradients[0],
                         ComparePredicate::gt, ComparePredicate::lt, needed);
}

/// The value of a constant float splat.
static std::optional<double> splatValue(Value value) {
  DenseElementsAttr attr;
  if (!matchPattern(value, m_Constant(&attr)) || !attr.isSplat() || !isa<FloatType>(attr.getElementType()))
    return std::nullopt;
  APFloat element = attr.getSplatValue<APFloat>();
  bool losesInfo = false;
  element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return element.convertToDouble();
}

// z = x^y: d x = y == 0 ? 0 : g y x^(y-1), d y = x == 0 and y >= 0 ? 0 : g z log(x)
RULE(PowOp) {
  TensorBuilder b(builder, getLoc());
  Value x = getLhs(), y = getRhs(), g = resultGradients[0];
  Gradients gradients(2);
  if (needed[0]) {
    if (std::optional<double> exponent = splatValue(y)) {
      if (*exponent == 0.0)
        gradients[0] = b.zerosLike(x);
      else if (*exponent == 2.0)
        gradients[0] = b.mul(g, b.mul(x, 2.0));
      else
        gradients[0] = b.mul(g, b.mul(b.binary<PowOp>(x, b.splatLike(x, *exponent - 1.0)), *exponent));
    } else {
      Value slope = b.mul(y, b.binary<PowOp>(x, b.add(y, -1.0)));
      gradients[0] = b.select(b.compare(ComparePredicate::eq, y, 0.0), b.zerosLike(g), b.mul(g, slope));
    }
  }
  if (needed[1]) {
    Value flat =
        b.binary<AndOp>(b.compare(ComparePredicate::eq, x, 0.0), b.compare(ComparePredicate::ge, y, 0.0));
    gradients[1] = b.select(flat, b.zerosLike(g), b.mul(g, b.mul(getResult(), b.log(x))));
  }
  return gradients;
}

// d on_true = condition ? g : 0, d on_false = condition ? 0 : g
RULE(SelectOp) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  Gradients gradients(3);
  if (needed[1])
    gradients[1] = b.select(getCondition(), g, b.zerosLike(g));
  if (needed[2])
    gradients[2] = b.select(getCondition(), b.zerosLike(g), g);
  return gradients;
}

// d x = cast g; integers have none
RULE(CastOp) {
  TensorBuilder b(builder, getLoc());
  Type element = TensorBuilder::elementOf(getOperand());
  return {needed[0] && isa<FloatType>(element) ? b.cast(resultGradients[0], element) : Value()};
}
