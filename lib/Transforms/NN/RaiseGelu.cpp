//===- RaiseGelu.cpp - Spelled-out GELU to nn.gelu ------------------------===//
//
//   0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))  ->  nn.gelu tanh %x
//   0.5 x (1 + erf(x / sqrt 2))                      ->  nn.gelu none %x
//
// The factors may be multiplied in any order, 0.5 may be inside the sum, and x out of the cubic's.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"

#include <numbers>

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// number * the product of all factors.
struct Product {
  double number = 1;
  SmallVector<Value> factors;
};

void collect(Value value, Product &product) {
  constexpr size_t kMost = 8;
  Scaled scaled = stripScale(value);
  product.number *= scaled.factor;
  auto inner = scaled.rest.getDefiningOp<MulOp>();
  if (!inner || product.factors.size() >= kMost) {
    product.factors.push_back(scaled.rest);
    return;
  }
  collect(inner.getLhs(), product);
  collect(inner.getRhs(), product);
}

Product productOf(Value value) {
  Product product;
  collect(value, product);
  return product;
}

/// The factor of x^power in number * x^power, where `value` is that.
std::optional<double> matchPower(Value value, Value x, int64_t power) {
  Product product = productOf(value);
  for (Value factor : product.factors) {
    auto raised = factor.getDefiningOp<PowOp>();
    std::optional<double> exponent = raised ? splatNumber(raised.getRhs()) : std::nullopt;
    if (factor == x)
      --power;
    else if (raised && raised.getLhs() == x && exponent && *exponent == std::floor(*exponent))
      power -= static_cast<int64_t>(*exponent);
    else
      return std::nullopt;
  }
  return power == 0 ? std::optional(product.number) : std::nullopt;
}

/// True for sqrt(2/pi) (x + 0.044715 x^3), also as sqrt(2/pi) x (1 + 0.044715 x^2).
bool isTanhArgument(Value value, Value x) {
  Product product = productOf(value);
  Value sum;
  bool hasX = false;
  for (Value factor : product.factors) {
    if (factor == x && !hasX)
      hasX = true;
    else if (factor.getDefiningOp<AddOp>() && !sum)
      sum = factor;
    else
      return false;
  }
  auto add = sum ? sum.getDefiningOp<AddOp>() : nullptr;
  if (!add || !isAbout(product.number, std::numbers::sqrt2 * std::numbers::inv_sqrtpi))
    return false;
  for (auto [first, rest] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    bool isLinear = hasX ? splatNumber(first) == 1.0 : first == x;
    std::optional<double> coefficient = isLinear ? matchPower(rest, x, hasX ? 2 : 3) : std::nullopt;
    if (coefficient && isAbout(*coefficient, 0.044715))
      return true;
  }
  return false;
}

struct Gate {
  GeluKind kind;
  double factor; // of 1 + f(x)
};

/// factor * (1 + f(x)), with f as one GELU has it.
std::optional<Gate> matchGate(Value value, Value x) {
  auto sum = value.getDefiningOp<AddOp>();
  if (!sum)
    return std::nullopt;
  for (auto [number, rest] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
    std::optional<double> one = splatNumber(number);
    Scaled function = stripScale(rest);
    if (!one || !isAbout(function.factor, *one))
      continue;
    if (auto tanh = function.rest.getDefiningOp<TanhOp>(); tanh && isTanhArgument(tanh.getOperand(), x))
      return Gate{GeluKind::tanh, *one};
    if (auto erf = function.rest.getDefiningOp<ErfOp>()) {
      Scaled argument = stripScale(erf.getOperand()), whole = stripScale(x);
      if (argument.rest == whole.rest && isAbout(argument.factor, whole.factor * std::numbers::sqrt2 / 2))
        return Gate{GeluKind::none, *one};
    }
  }
  return std::nullopt;
}

struct RaiseGelu : OpRewritePattern<MulOp> {
  RaiseGelu(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern(context), remarks(remarks) {}

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    // x itself may be a product, or a multiple of something: it is looked for in all forms that it has.
    auto attempt = [&](Value gate, Value x, double number) {
      std::optional<Gate> found = matchGate(gate, x);
      if (!found || !isAbout(number * found->factor, 0.5))
        return false;
      remarks.raised(op.getLoc(), "nn.gelu", stringifyGeluKind(found->kind));
      rewriter.replaceOpWithNewOp<GeluOp>(op, op.getType(), found->kind, x);
      return true;
    };
    Scaled whole = stripScale(op.getResult());
    auto product = whole.rest.getDefiningOp<MulOp>();
    if (!product)
      return failure();
    for (auto [one, other] :
         {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
      Scaled gate = stripScale(other), inner = stripScale(one);
      if (attempt(gate.rest, one, whole.factor * gate.factor) ||
          attempt(gate.rest, inner.rest, whole.factor * gate.factor * inner.factor))
        return success();
    }
    // x, the gate and numbers in another association, (c x) (g y): x and the gate alone make it one.
    Product all = productOf(op.getResult());
    if (all.factors.size() == 2)
      for (auto [x, gate] :
           {std::pair(all.factors[0], all.factors[1]), std::pair(all.factors[1], all.factors[0])})
        if (attempt(gate, x, all.number))
          return success();
    return failure();
  }

private:
  RaiseRemarks &remarks;
};

} // namespace

void zero::addRaiseGeluPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseGelu>(patterns.getContext(), remarks);
}
