//===- RaiseGelu.cpp - Spelled-out GELU to nn.gelu ------------------------===//
//
//   0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))  ->  nn.gelu tanh %x
//   0.5 x (1 + erf(x / sqrt 2))                      ->  nn.gelu none %x
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"

#include <numbers>

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// The other operand of a commutative op that has `value` as one.
template <typename OpTy> Value other(Value result, llvm::function_ref<bool(Value)> isOne) {
  auto op = result.getDefiningOp<OpTy>();
  if (!op)
    return nullptr;
  if (isOne(op.getLhs()))
    return op.getRhs();
  return isOne(op.getRhs()) ? op.getLhs() : Value();
}

bool isNumber(Value value, double number) {
  std::optional<double> splat = splatNumber(value);
  return splat && isAbout(*splat, number);
}

/// True for x^3.
bool isCube(Value value, Value x) {
  if (auto power = value.getDefiningOp<PowOp>())
    return power.getLhs() == x && isNumber(power.getRhs(), 3);
  auto isSquare = [&](Value part) {
    if (auto power = part.getDefiningOp<PowOp>())
      return power.getLhs() == x && isNumber(power.getRhs(), 2);
    auto product = part.getDefiningOp<MulOp>();
    return product && product.getLhs() == x && product.getRhs() == x;
  };
  return other<MulOp>(value, isSquare) == x;
}

/// True for sqrt(2/pi) (x + 0.044715 x^3).
bool isTanhArgument(Value value, Value x) {
  Scaled outer = stripScale(value);
  if (!isAbout(outer.factor, std::numbers::sqrt2 * std::numbers::inv_sqrtpi))
    return false;
  Value cubic = other<AddOp>(outer.rest, [&](Value part) { return part == x; });
  if (!cubic)
    return false;
  Scaled inner = stripScale(cubic);
  return isAbout(inner.factor, 0.044715) && isCube(inner.rest, x);
}

/// Which GELU 1 + f(x) belongs to.
std::optional<GeluKind> kindOf(Value onePlus, Value x) {
  Value function = other<AddOp>(onePlus, [](Value part) { return isNumber(part, 1); });
  if (!function)
    return std::nullopt;
  if (auto tanh = function.getDefiningOp<TanhOp>(); tanh && isTanhArgument(tanh.getOperand(), x))
    return GeluKind::tanh;
  if (auto erf = function.getDefiningOp<ErfOp>()) {
    Scaled argument = stripScale(erf.getOperand());
    if (argument.rest == x && isAbout(argument.factor, std::numbers::sqrt2 / 2))
      return GeluKind::none;
  }
  return std::nullopt;
}

struct RaiseGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    // The factors 0.5, x and 1 + f(x) may be multiplied in any order.
    Scaled whole = stripScale(op.getResult());
    auto product = whole.rest.getDefiningOp<MulOp>();
    if (!product)
      return failure();
    for (auto [one, other] :
         {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
      Scaled onePlus = stripScale(other), inner = stripScale(one);
      // x may be a multiple of something itself.
      for (const Scaled &x : {inner, Scaled{one, 1}}) {
        std::optional<GeluKind> kind = kindOf(onePlus.rest, x.rest);
        if (!kind || !isAbout(whole.factor * x.factor * onePlus.factor, 0.5))
          continue;
        rewriter.replaceOpWithNewOp<GeluOp>(op, op.getType(), *kind, x.rest);
        return success();
      }
    }
    return failure();
  }
};

} // namespace

void zero::addRaiseGeluPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGelu>(patterns.getContext());
}
