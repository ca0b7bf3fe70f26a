//===- FusedProduct.cpp - Products with what follows them -----------------===//
#include "zero/Analysis/FusedProduct.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace zero {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
Type elementOf(Value value) { return typeOf(value).getElementType(); }
/// 0 of scalars.
int64_t lastDimension(Value value) { return typeOf(value).getRank() ? typeOf(value).getShape().back() : 0; }

/// Whether every element of `value` is this number, as closely as float32 tells.
bool isNumber(Value value, double number) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return false;
  return std::abs(elements.getSplatValue<APFloat>().convertToDouble() - number) <= 1e-6 * std::abs(number);
}

/// Whether `value` is the op of two values of which one fulfils each, in either order.
template <typename Op> bool matchEither(Value value, llvm::function_ref<bool(Value)> one, llvm::function_ref<bool(Value)> other) {
  auto op = value.getDefiningOp<Op>();
  return op && ((one(op.getLhs()) && other(op.getRhs())) || (one(op.getRhs()) && other(op.getLhs())));
}
template <typename Op> bool matchNumber(Value value, double number, llvm::function_ref<bool(Value)> rest) {
  return matchEither<Op>(value, rest, [&](Value other) { return isNumber(other, number); });
}

constexpr double kRoot = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCubic = 0.044715;

/// u = sqrt(2/pi) (x + 0.044715 x^3), t = tanh(u)
bool isTanh(Value value, Value x) {
  auto isX = [&](Value other) { return other == x; };
  auto isSquare = [&](Value other) { return matchEither<nn::MulOp>(other, isX, isX); };
  auto isCube = [&](Value other) { return matchEither<nn::MulOp>(other, isSquare, isX); };
  auto isCubic = [&](Value other) { return matchNumber<nn::MulOp>(other, kCubic, isCube); };
  auto isSum = [&](Value other) { return matchEither<nn::AddOp>(other, isX, isCubic); };
  auto tanh = value.getDefiningOp<nn::TanhOp>();
  return tanh && matchNumber<nn::MulOp>(tanh.getOperand(), kRoot, isSum);
}

/// Sets `x` to what is halved; true where it is.
bool takeHalved(Value value, Value &x) {
  return matchNumber<nn::MulOp>(value, 0.5, [&](Value rest) {
    x = rest;
    return true;
  });
}

/// 1/2 (1 + t) + x/2 (1 - t^2) u', u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)
Value matchGeluSlope(Value value) {
  Value x, t;
  auto isX = [&](Value other) { return other == x; };
  auto isT = [&](Value other) { return other == t; };
  auto isTSquare = [&](Value other) { return matchEither<nn::MulOp>(other, isT, isT); };
  auto isRest = [&](Value other) {
    auto sub = other.getDefiningOp<nn::SubOp>();
    return sub && isNumber(sub.getLhs(), 1) && isTSquare(sub.getRhs());
  };
  auto isSquare = [&](Value other) { return matchEither<nn::MulOp>(other, isX, isX); };
  auto isInner = [&](Value other) {
    return matchNumber<nn::MulOp>(other, kRoot, [&](Value sum) {
      return matchNumber<nn::AddOp>(sum, 1, [&](Value term) { return matchNumber<nn::MulOp>(term, 3 * kCubic, isSquare); });
    });
  };
  auto isLeft = [&](Value other) {
    return matchNumber<nn::MulOp>(other, 0.5, [&](Value sum) {
      return matchNumber<nn::AddOp>(sum, 1, [&](Value tanh) {
        t = tanh;
        return bool(tanh.getDefiningOp<nn::TanhOp>());
      });
    });
  };
  auto isOuter = [&](Value other) {
    return matchEither<nn::MulOp>(other, [&](Value half) { return takeHalved(half, x); }, isRest);
  };
  auto isRight = [&](Value other) { return matchEither<nn::MulOp>(other, isOuter, isInner); };
  return matchEither<nn::AddOp>(value, isLeft, isRight) && isTanh(t, x) ? x : Value();
}

/// The vector of `n` elements that `value` repeats along its last dimension; null for anything else.
Value matchBias(Value value, int64_t n, Type element) {
  auto broadcast = stripShapes(value).getDefiningOp<nn::BroadcastOp>();
  if (!broadcast || lastDimension(broadcast.getResult()) != n)
    return {};
  RankedTensorType from = typeOf(broadcast.getOperand());
  if (from.getNumElements() != n || from.getRank() == 0 || from.getShape().back() != n ||
      broadcast.getDims().back() != typeOf(broadcast.getResult()).getRank() - 1)
    return {};
  return findNarrow(broadcast.getOperand(), element);
}

/// Whether `value` is computed before the product, which then need not wait for it with what it takes.
bool isThere(Value value, nn::MatmulOp product) {
  Operation *producer = stripShapes(value).getDefiningOp();
  return !producer || (producer->getBlock() == product->getBlock() && producer->isBeforeInBlock(product));
}

} // namespace

Value stripShapes(Value value, SmallVectorImpl<Operation *> *path) {
  while (Operation *op = value.getDefiningOp()) {
    auto reshape = dyn_cast<nn::ReshapeOp>(op);
    auto cast = dyn_cast<nn::CastOp>(op);
    const bool goesOn = reshape ? typeOf(reshape.getOperand()).hasStaticShape() && lastDimension(reshape.getOperand()) == lastDimension(reshape.getResult())
                                : cast && isa<FloatType>(elementOf(cast.getOperand())) && isa<FloatType>(elementOf(cast.getResult()));
    if (!goesOn)
      break;
    if (path)
      path->push_back(op);
    value = op->getOperand(0);
  }
  return value;
}

Value findNarrow(Value value, Type element) {
  SmallVector<Operation *> path;
  stripShapes(value, &path);
  if (elementOf(value) == element)
    return value;
  for (Operation *op : path)
    if (elementOf(op->getOperand(0)) == element)
      return op->getOperand(0);
  return {};
}

std::optional<ProductSum> matchProductSum(Value value, bool withAddend, unsigned mostAdditions) {
  ProductSum sum;
  Value at = stripShapes(value, &sum.path);
  if (auto product = at.getDefiningOp<nn::MatmulOp>()) {
    sum.product = product;
    return sum;
  }
  auto add = at.getDefiningOp<nn::AddOp>();
  if (!add || mostAdditions == 0 || !isa<FloatType>(elementOf(at)))
    return std::nullopt;
  sum.path.push_back(add);
  auto within = [&](std::optional<ProductSum> inner) {
    inner->path.insert(inner->path.begin(), sum.path.begin(), sum.path.end());
    return inner;
  };
  const std::pair<Value, Value> orders[] = {{add.getLhs(), add.getRhs()}, {add.getRhs(), add.getLhs()}};
  for (auto [first, second] : orders)
    if (std::optional<ProductSum> inner = matchProductSum(first, withAddend, mostAdditions - 1); inner && !inner->bias)
      if (Value bias = matchBias(second, lastDimension(at), elementOf(inner->product.getResult()))) {
        inner->bias = bias;
        return within(inner);
      }
  if (!withAddend)
    return std::nullopt;
  for (auto [first, second] : orders)
    if (std::optional<ProductSum> inner = matchProductSum(first, /*withAddend=*/false, mostAdditions - 1); inner && lastDimension(second) == lastDimension(at))
      if (Value addend = findNarrow(second, elementOf(inner->product.getResult())); addend && isThere(addend, inner->product)) {
        inner->addend = addend;
        return within(inner);
      }
  return std::nullopt;
}

Value matchGelu(Value value) {
  Value x;
  auto isHalf = [&](Value other) { return takeHalved(other, x); };
  auto isGate = [&](Value other) { return matchNumber<nn::AddOp>(other, 1, [&](Value t) { return isTanh(t, x); }); };
  auto mul = value.getDefiningOp<nn::MulOp>();
  if (!mul)
    return {};
  for (auto [half, gate] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
    if (isHalf(half) && isGate(gate))
      return x;
  return {};
}

std::optional<GeluGradient> matchGeluGradient(Value value) {
  auto mul = value.getDefiningOp<nn::MulOp>();
  if (!mul)
    return std::nullopt;
  for (auto [gradient, slope] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
    if (Value x = matchGeluSlope(slope))
      return GeluGradient{gradient, x};
  return std::nullopt;
}

Value matchRowSum(Operation *op) {
  auto reduce = dyn_cast_or_null<nn::ReduceOp>(op);
  if (!reduce || reduce.getKind() != nn::ReduceKind::sum || !isa<FloatType>(elementOf(reduce.getOperand())))
    return {};
  const int64_t rank = typeOf(reduce.getOperand()).getRank();
  SmallVector<int64_t> axes(reduce.getAxes());
  llvm::sort(axes);
  return rank >= 2 && llvm::equal(axes, llvm::seq<int64_t>(0, rank - 1)) ? Value(reduce.getOperand()) : Value();
}

bool holdsProduct(nn::GroupOp group) { return !group.getBody().front().getOps<nn::MatmulOp>().empty(); }

namespace {

/// Reads a group back.
class GroupReader {
public:
  GroupReader(nn::GroupOp group, std::string *why) : group(group), body(group.getBody().front()), why(why) {}

  std::optional<FusedProduct> run() {
    auto products = body.getOps<nn::MatmulOp>();
    if (std::distance(products.begin(), products.end()) != 1)
      return refuse("it does not hold one product");
    product = *products.begin();
    RankedTensorType type = product.getType();
    element = type.getElementType();
    if (type.getRank() != 2 || !(element.isF32() || element.isF16() || element.isBF16()))
      return refuse("its product is not one of matrices of f32, f16 or bf16");
    fused.lhs = operandOf(product.getLhs()), fused.rhs = operandOf(product.getRhs());
    fused.transposeLhs = product.getTransposeLhs(), fused.transposeRhs = product.getTransposeRhs();
    if (!fused.lhs || !fused.rhs)
      return refuse("its product takes what the group computes");
    for (OpResult result : group.getResults())
      if (!readResult(result))
        return refuseResult(result);
    if (sums.size() > 1 || rowSums.size() > 1)
      return refuse("several results are the same sum");
    if (fused.activation == FusedProduct::Activation::None) {
      if (sums.empty())
        return refuse("no result is its product");
      fused.out = sums.front();
    } else if (!sums.empty()) {
      if (fused.activation != FusedProduct::Activation::Gelu)
        return refuseResult(sums.front());
      fused.beforeOut = sums.front();
    }
    if (!rowSums.empty() && !readRowSum(rowSums.front()))
      return refuse("what it sums over rows is neither an operand of its product nor the gradient of a GELU");
    return check();
  }

private:
  std::optional<FusedProduct> refuse(const std::string &text) {
    if (why)
      *why = text;
    return std::nullopt;
  }

  std::optional<FusedProduct> refuseResult(OpResult result) {
    return refuse("result #" + std::to_string(result.getResultNumber()) + " is none that a product's epilogue gives");
  }

  Value operandOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body ? group->getOperand(argument.getArgNumber()) : Value();
  }
  /// The operand that `value` is, through what changes no number of it.
  Value findOperand(Value value) {
    Value narrow = findNarrow(value, element);
    return narrow ? operandOf(stripReshapes(narrow)) : Value();
  }
  static Value stripReshapes(Value value) {
    while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
      value = reshape.getOperand();
    return value;
  }
  Value yieldOf(OpResult result) { return body.getTerminator()->getOperand(result.getResultNumber()); }

  /// A sum of which the group computes no more than one.
  bool takeSum(Value value, bool withAddend, unsigned mostAdditions) {
    std::optional<ProductSum> sum = matchProductSum(value, withAddend, mostAdditions);
    if (!sum || sum->product != product)
      return false;
    Value addend = sum->addend ? findOperand(sum->addend) : Value(), bias = sum->bias ? findOperand(sum->bias) : Value();
    if ((sum->addend && !addend) || (sum->bias && !bias) || (hasSum && (addend != fused.addend || bias != fused.bias)))
      return false;
    fused.addend = addend, fused.bias = bias;
    hasSum = true;
    return true;
  }

  bool readResult(OpResult result) {
    Value value = yieldOf(result);
    if (elementOf(value) != element)
      return false;
    Value bare = stripShapes(value);
    if (matchRowSum(bare.getDefiningOp())) {
      rowSums.push_back(result);
      return true;
    }
    if (Value before = matchGelu(bare)) {
      if (fused.out || !takeSum(before, /*withAddend=*/false, 1))
        return false;
      fused.activation = FusedProduct::Activation::Gelu;
      fused.out = result;
      return true;
    }
    if (std::optional<GeluGradient> gradient = matchGeluGradient(bare)) {
      fused.before = findOperand(gradient->before);
      if (fused.out || !fused.before || !takeSum(gradient->gradient, /*withAddend=*/false, 0))
        return false;
      fused.activation = FusedProduct::Activation::GeluGradient;
      fused.out = result;
      return true;
    }
    if (!takeSum(value, /*withAddend=*/true, 2))
      return false;
    sums.push_back(result);
    return true;
  }

  bool readRowSum(OpResult result) {
    Value of = matchRowSum(stripShapes(yieldOf(result)).getDefiningOp());
    fused.biasGradient = result;
    using Of = FusedProduct::BiasGradient;
    if (fused.activation == FusedProduct::Activation::GeluGradient && stripShapes(of) == stripShapes(yieldOf(fused.out))) {
      fused.biasGradientOf = Of::OfOut;
      return true;
    }
    Value operand = findOperand(of);
    if (operand && operand == fused.rhs && !fused.transposeRhs)
      fused.biasGradientOf = Of::OfRhs;
    else if (operand && operand == fused.lhs && fused.transposeLhs)
      fused.biasGradientOf = Of::OfLhs;
    return fused.biasGradientOf != Of::None;
  }

  /// What cuBLASLt combines.
  std::optional<FusedProduct> check() {
    using Of = FusedProduct::BiasGradient;
    const int64_t n = product.getType().getDimSize(1);
    if ((fused.before || fused.beforeOut) && n % kStoredRowElements)
      return refuse("what its GELU is applied to has rows of " + std::to_string(n) + " elements, no multiple of " + std::to_string(kStoredRowElements));
    if ((fused.biasGradientOf == Of::OfRhs || fused.biasGradientOf == Of::OfLhs) &&
        (fused.activation != FusedProduct::Activation::None || fused.bias || fused.addend))
      return refuse("it sums rows of an operand and does more to the product");
    return fused;
  }

  nn::GroupOp group;
  Block &body;
  std::string *why;
  nn::MatmulOp product;
  Type element;
  FusedProduct fused;
  bool hasSum = false;
  SmallVector<OpResult> sums, rowSums;
};

} // namespace

std::optional<FusedProduct> getFusedProduct(nn::GroupOp group, std::string *why) { return GroupReader(group, why).run(); }

} // namespace zero
