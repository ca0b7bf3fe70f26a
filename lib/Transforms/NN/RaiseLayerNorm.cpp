//===- RaiseLayerNorm.cpp - Spelled-out layer norm to nn.layer_norm -------===//
//
//   centred = x - mean(x); centred / sqrt(mean(centred^2) + epsilon) * scale + bias  ->  nn.layer_norm
//
// The mean is a sum over the trailing dimensions, divided by their number. The inverse of the deviation may be
// a division, a reciprocal, rsqrt or a power, and the factors may be multiplied in any order. Without bias the
// norm has none, without scale one of ones.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "Repeated.h"
#include "TensorViews.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// A mean over trailing dimensions of `operand`, repeated over them.
struct RowMean {
  Value operand;
  int64_t trailing;
};
std::optional<RowMean> matchMean(Repeated value) {
  // Division before or after the reshape that keeps the dimensions.
  double factor = 1;
  for (;;) {
    value = value.stripped();
    Scaled scaled = stripScale(value.value);
    if (scaled.rest == value.value)
      break;
    factor *= scaled.factor;
    value.value = scaled.rest;
  }
  auto sum = value.value.getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::sum || sum.getAxes().empty())
    return std::nullopt;
  ArrayRef<int64_t> shape = sum.getOperand().getType().getShape();
  if (ShapedType::isDynamicShape(shape))
    return std::nullopt;
  int64_t rank = static_cast<int64_t>(shape.size()), trailing = static_cast<int64_t>(sum.getAxes().size());
  int64_t count = 1;
  for (auto [index, axis] : llvm::enumerate(sum.getAxes())) {
    if (axis != rank - trailing + static_cast<int64_t>(index))
      return std::nullopt;
    count *= shape[axis];
  }
  // A statistic that is repeated along other dimensions than its own is not that row's.
  SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(0, rank - trailing));
  if (!value.runsAlong(rows, shape) || !isAbout(factor * static_cast<double>(count), 1))
    return std::nullopt;
  return RowMean{sum.getOperand(), trailing};
}

/// x - mean(x)
std::optional<RowMean> matchCentred(Value value) {
  auto difference = value.getDefiningOp<SubOp>();
  if (!difference)
    return std::nullopt;
  std::optional<RowMean> mean = matchMean(Repeated(difference.getRhs()));
  return mean && mean->operand == difference.getLhs() ? mean : std::nullopt;
}

bool isSquareOf(Value value, Value x) {
  if (auto power = value.getDefiningOp<PowOp>())
    return power.getLhs() == x && splatNumber(power.getRhs()) == 2.0;
  auto product = value.getDefiningOp<MulOp>();
  return product && product.getLhs() == x && product.getRhs() == x;
}

/// Whether `value` is mean(centred^2) + epsilon, and epsilon.
std::optional<double> matchVariance(Repeated value, Value centred, int64_t trailing) {
  value = value.stripped();
  auto sum = value.value.getDefiningOp<AddOp>();
  if (!sum)
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    std::optional<double> number = splatNumber(sum->getOperand(1 - index));
    std::optional<RowMean> mean = number ? matchMean(value.operand(index)) : std::nullopt;
    if (mean && *number >= 0 && mean->trailing == trailing && isSquareOf(mean->operand, centred))
      return number;
  }
  return std::nullopt;
}

/// Whether `value` (isInverse: its reciprocal) is 1 / sqrt(mean(centred^2) + epsilon), and epsilon.
std::optional<double> matchInverse(Repeated value, bool isInverse, Value centred, int64_t trailing) {
  value = value.stripped();
  Operation *op = value.value.getDefiningOp();
  if (isa_and_nonnull<SqrtOp>(op) && isInverse)
    return matchVariance(value.operand(0), centred, trailing);
  if (isa_and_nonnull<RsqrtOp>(op) && !isInverse)
    return matchVariance(value.operand(0), centred, trailing);
  if (isa_and_nonnull<ReciprocalOp>(op))
    return matchInverse(value.operand(0), !isInverse, centred, trailing);
  if (isa_and_nonnull<DivOp>(op) && splatNumber(op->getOperand(0)) == 1.0)
    return matchInverse(value.operand(1), !isInverse, centred, trailing);
  if (isa_and_nonnull<PowOp>(op) && splatNumber(op->getOperand(1)) == (isInverse ? 0.5 : -0.5))
    return matchVariance(value.operand(0), centred, trailing);
  return std::nullopt;
}

/// number * the product of all factors; the inverse of the last `inverses`.
struct Factors {
  SmallVector<Value> direct, inverse;
  bool isPlain = true; // no number among them
};
void collect(Value value, Factors &factors) {
  constexpr size_t kMost = 4;
  if (factors.direct.size() + factors.inverse.size() >= kMost || splatNumber(value)) {
    factors.isPlain = false;
  } else if (auto product = value.getDefiningOp<MulOp>(); product && product.getLhs() != product.getRhs()) {
    collect(product.getLhs(), factors);
    collect(product.getRhs(), factors);
  } else if (auto quotient = value.getDefiningOp<DivOp>(); quotient && !splatNumber(quotient.getLhs())) {
    collect(quotient.getLhs(), factors);
    factors.inverse.push_back(quotient.getRhs());
  } else {
    factors.direct.push_back(value);
  }
}

/// A weight of the normalised dimensions, repeated over rows; `present` says whether it is there already.
Value matchWeight(Value value, ArrayRef<int64_t> wide, int64_t trailing) {
  int64_t rank = static_cast<int64_t>(wide.size());
  Repeated weight = Repeated(value).stripped();
  return weight.runsAlong(llvm::to_vector(llvm::seq<int64_t>(rank - trailing, rank)), wide) ? weight.value
                                                                                          : Value();
}

struct Normalised {
  Value x;
  int64_t trailing;
  double epsilon;
  Value scale; // with the dimensions of more than one element; null if there is none
};

/// (x - mean) / deviation, or that times a weight.
std::optional<Normalised> matchNormalised(Value value) {
  Factors factors;
  collect(value, factors);
  size_t count = factors.direct.size() + factors.inverse.size();
  if (!factors.isPlain || factors.inverse.size() > 1 || count < 2 || count > 3)
    return std::nullopt;
  for (Value centred : factors.direct) {
    std::optional<RowMean> row = matchCentred(centred);
    if (!row)
      continue;
    SmallVector<Value> rest;
    llvm::copy_if(factors.direct, std::back_inserter(rest), [&](Value other) { return other != centred; });
    for (size_t index = 0; index <= rest.size(); ++index) {
      bool isInverse = index == rest.size();
      if (isInverse && factors.inverse.empty())
        break;
      std::optional<double> epsilon = matchInverse(Repeated(isInverse ? factors.inverse.front() : rest[index]),
                                                   isInverse, centred, row->trailing);
      if (!epsilon)
        continue;
      if (!isInverse) {
        if (!factors.inverse.empty())
          return std::nullopt;
        rest.erase(rest.begin() + index);
      }
      Normalised found{row->operand, row->trailing, *epsilon, Value()};
      if (rest.empty())
        return found;
      found.scale = rest.size() == 1 ? matchWeight(rest.front(), shapeOf(value), row->trailing) : Value();
      return found.scale ? std::optional(found) : std::nullopt;
    }
  }
  return std::nullopt;
}

struct Raise {
  RaiseRemarks &remarks;

  /// Replaces `op`, which computes the norm with its bias, if it has one.
  void build(PatternRewriter &rewriter, Operation *op, const Normalised &norm, Value bias) const {
    auto type = cast<RankedTensorType>(norm.x.getType());
    RankedTensorType weight = type.clone(type.getShape().take_back(norm.trailing));
    Type statistic = type.clone(type.getShape().drop_back(norm.trailing));
    auto shaped = [&](Value value) {
      return rewriter.createOrFold<ReshapeOp>(op->getLoc(), weight, value);
    };
    Value scale;
    if (norm.scale)
      scale = shaped(norm.scale);
    else
      scale = ConstantOp::create(rewriter, op->getLoc(), weight,
                                 SplatElementsAttr::get(weight, rewriter.getFloatAttr(weight.getElementType(), 1)));
    auto raised = LayerNormOp::create(rewriter, op->getLoc(), TypeRange{type, statistic, statistic}, norm.x, scale,
                                      bias ? shaped(bias) : Value(), rewriter.getF64FloatAttr(norm.epsilon));
    remarks.raised(op->getLoc(), "nn.layer_norm",
                   !norm.scale ? "without scale and bias" : !bias ? "without bias" : "");
    rewriter.replaceOp(op, raised.getResult());
  }
};

struct RaiseWithBias : OpRewritePattern<AddOp> {
  RaiseWithBias(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern(context), raise{remarks} {}
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [left, right] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      std::optional<Normalised> norm = matchNormalised(left);
      Value bias = norm && norm->scale ? matchWeight(right, shapeOf(left), norm->trailing) : Value();
      if (!bias)
        continue;
      raise.build(rewriter, op, *norm, bias);
      return success();
    }
    return failure();
  }
  Raise raise;
};

struct RaiseScaled : OpRewritePattern<MulOp> {
  RaiseScaled(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern(context), raise{remarks} {}
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    std::optional<Normalised> norm = matchNormalised(op.getResult());
    if (!norm || !norm->scale)
      return failure();
    raise.build(rewriter, op, *norm, Value());
    return success();
  }
  Raise raise;
};

template <typename OpTy> struct RaiseBare : OpRewritePattern<OpTy> {
  RaiseBare(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern<OpTy>(context), raise{remarks} {}
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    std::optional<Normalised> norm = matchNormalised(op.getResult());
    if (!norm)
      return failure();
    raise.build(rewriter, op, *norm, Value());
    return success();
  }
  Raise raise;
};

} // namespace

void zero::addRaiseBiasedLayerNormPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseWithBias>(patterns.getContext(), remarks);
}

void zero::addRaiseScaledLayerNormPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseScaled>(patterns.getContext(), remarks);
}

void zero::addRaiseBareLayerNormPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseBare<DivOp>, RaiseBare<MulOp>>(patterns.getContext(), remarks);
}
