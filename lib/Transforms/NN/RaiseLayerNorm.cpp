//===- RaiseLayerNorm.cpp - Spelled-out layer norm to nn.layer_norm -------===//
//
//   centred = x - mean(x); centred / sqrt(mean(centred^2) + epsilon) * scale + bias  ->  nn.layer_norm
//
// The mean is a sum over some dimensions, divided by their number; where they are not the last ones (channels
// of an image), the norm stands between two transposes: two copies, but one kernel in place of three, and what
// the gradient needs is x alone. The inverse of the deviation may be
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

/// A mean over dimensions of `operand`, repeated over them.
struct RowMean {
  Value operand;
  SmallVector<int64_t> axes;
};

/// The dimensions that are not among `axes`.
SmallVector<int64_t> otherDims(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(axes, dim))
      others.push_back(dim);
  return others;
}

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
  int64_t count = 1;
  for (int64_t axis : sum.getAxes())
    count *= shape[axis];
  // A statistic that is repeated along other dimensions than its own is not that row's.
  SmallVector<int64_t> axes = llvm::to_vector(sum.getAxes());
  llvm::sort(axes);
  if (!value.runsAlong(otherDims(axes, shape.size()), shape) || !isAbout(factor * static_cast<double>(count), 1))
    return std::nullopt;
  return RowMean{sum.getOperand(), std::move(axes)};
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
std::optional<double> matchVariance(Repeated value, Value centred, ArrayRef<int64_t> axes) {
  value = value.stripped();
  auto sum = value.value.getDefiningOp<AddOp>();
  if (!sum)
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    std::optional<double> number = splatNumber(sum->getOperand(1 - index));
    std::optional<RowMean> mean = number ? matchMean(value.operand(index)) : std::nullopt;
    if (mean && *number >= 0 && ArrayRef(mean->axes) == axes && isSquareOf(mean->operand, centred))
      return number;
  }
  return std::nullopt;
}

/// Whether `value` (isInverse: its reciprocal) is 1 / sqrt(mean(centred^2) + epsilon), and epsilon.
std::optional<double> matchInverse(Repeated value, bool isInverse, Value centred,
                                   ArrayRef<int64_t> axes) {
  value = value.stripped();
  Operation *op = value.value.getDefiningOp();
  if (isa_and_nonnull<SqrtOp>(op) && isInverse)
    return matchVariance(value.operand(0), centred, axes);
  if (isa_and_nonnull<RsqrtOp>(op) && !isInverse)
    return matchVariance(value.operand(0), centred, axes);
  if (isa_and_nonnull<ReciprocalOp>(op))
    return matchInverse(value.operand(0), !isInverse, centred, axes);
  if (isa_and_nonnull<DivOp>(op) && splatNumber(op->getOperand(0)) == 1.0)
    return matchInverse(value.operand(1), !isInverse, centred, axes);
  if (isa_and_nonnull<PowOp>(op) && splatNumber(op->getOperand(1)) == (isInverse ? 0.5 : -0.5))
    return matchVariance(value.operand(0), centred, axes);
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

/// A weight of the normalised dimensions, repeated over rows.
Value matchWeight(Value value, ArrayRef<int64_t> wide, ArrayRef<int64_t> axes) {
  Repeated weight = Repeated(value).stripped();
  return weight.runsAlong(axes, wide) ? weight.value : Value();
}

struct Normalised {
  Value x;
  SmallVector<int64_t> axes;
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
                                                   isInverse, centred, row->axes);
      if (!epsilon)
        continue;
      if (!isInverse) {
        if (!factors.inverse.empty())
          return std::nullopt;
        rest.erase(rest.begin() + index);
      }
      Normalised found{row->operand, row->axes, *epsilon, Value()};
      if (rest.empty())
        return found;
      found.scale = rest.size() == 1 ? matchWeight(rest.front(), shapeOf(value), row->axes) : Value();
      return found.scale ? std::optional(found) : std::nullopt;
    }
  }
  return std::nullopt;
}

struct Raise {
  RaiseRemarks &remarks;

  /// Replaces `op`, which computes the norm with its bias, if it has one.
  void build(PatternRewriter &rewriter, Operation *op, const Normalised &norm, Value bias) const {
    auto given = cast<RankedTensorType>(norm.x.getType());
    SmallVector<int64_t> order = otherDims(norm.axes, given.getRank()), back(given.getRank()), shape;
    size_t rows = order.size();
    llvm::append_range(order, norm.axes);
    for (auto [to, from] : llvm::enumerate(order)) {
      back[from] = to;
      shape.push_back(given.getDimSize(from));
    }
    RankedTensorType type = given.clone(shape), weight = given.clone(ArrayRef(shape).drop_front(rows));
    Type statistic = given.clone(ArrayRef(shape).take_front(rows));
    Value x = norm.x;
    if (!llvm::is_sorted(order))
      x = TransposeOp::create(rewriter, op->getLoc(), type, x, order);
    auto shaped = [&](Value value) {
      return rewriter.createOrFold<ReshapeOp>(op->getLoc(), weight, value);
    };
    Value scale;
    if (norm.scale)
      scale = shaped(norm.scale);
    else
      scale = ConstantOp::create(rewriter, op->getLoc(), weight,
                                 SplatElementsAttr::get(weight, rewriter.getFloatAttr(weight.getElementType(), 1)));
    auto raised = LayerNormOp::create(rewriter, op->getLoc(), TypeRange{type, statistic, statistic}, x, scale,
                                      bias ? shaped(bias) : Value(), rewriter.getF64FloatAttr(norm.epsilon));
    remarks.raised(op->getLoc(), "nn.layer_norm",
                   !norm.scale ? "without scale and bias" : !bias ? "without bias" : "");
    Value result = raised.getResult();
    if (!llvm::is_sorted(order))
      result = TransposeOp::create(rewriter, op->getLoc(), given, result, back);
    rewriter.replaceOp(op, result);
  }
};

struct RaiseWithBias : OpRewritePattern<AddOp> {
  RaiseWithBias(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern(context), raise{remarks} {}
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [left, right] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      std::optional<Normalised> norm = matchNormalised(left);
      Value bias = norm && norm->scale ? matchWeight(right, shapeOf(left), norm->axes) : Value();
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
