//===- RaiseLayerNorm.cpp - Spelled-out layer norm to nn.layer_norm -------===//
//
//   centred = x - mean(x); centred / sqrt(mean(centred^2) + epsilon) * scale + bias  ->  nn.layer_norm
//
// The mean is a sum over the trailing dimensions, divided by their number. Without the bias, the norm has
// none.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// Strips what repeats a row's statistic over its row: a broadcast, and reshapes that add dimensions of
/// size 1.
Value stripRow(Value value) {
  for (;;) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>())
      value = broadcast.getOperand();
    else if (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    else
      return value;
  }
}

/// A mean over trailing dimensions of `operand`, kept or repeated; the number of trailing dimensions, or
/// none.
struct RowMean {
  Value operand;
  int64_t trailing;
};
std::optional<RowMean> matchMean(Value value) {
  // Division before or after the reshape that keeps the dimensions.
  double factor = 1;
  for (;;) {
    Scaled scaled = stripScale(stripRow(value));
    factor *= scaled.factor;
    if (scaled.rest == value)
      break;
    value = scaled.rest;
  }
  auto sum = value.getDefiningOp<ReduceOp>();
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
  if (!isAbout(factor * static_cast<double>(count), 1))
    return std::nullopt;
  return RowMean{sum.getOperand(), trailing};
}

/// x - mean(x)
std::optional<RowMean> matchCentred(Value value) {
  auto difference = value.getDefiningOp<SubOp>();
  if (!difference)
    return std::nullopt;
  std::optional<RowMean> mean = matchMean(difference.getRhs());
  return mean && mean->operand == difference.getLhs() ? mean : std::nullopt;
}

bool isSquareOf(Value value, Value x) {
  if (auto power = value.getDefiningOp<PowOp>())
    return power.getLhs() == x && splatNumber(power.getRhs()) == 2.0;
  auto product = value.getDefiningOp<MulOp>();
  return product && product.getLhs() == x && product.getRhs() == x;
}

/// Whether `root` is sqrt(mean(centred^2) + epsilon), and epsilon.
std::optional<double> matchDeviation(Value root, Value centred, int64_t trailing) {
  auto sqrt = stripRow(root).getDefiningOp<SqrtOp>();
  auto sum = sqrt ? stripRow(sqrt.getOperand()).getDefiningOp<AddOp>() : nullptr;
  if (!sum)
    return std::nullopt;
  for (auto [variance, epsilon] :
       {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
    std::optional<double> number = splatNumber(epsilon);
    std::optional<RowMean> mean = matchMean(variance);
    if (number && *number >= 0 && mean && mean->trailing == trailing && isSquareOf(mean->operand, centred))
      return number;
  }
  return std::nullopt;
}

struct Normalised {
  Value x;
  int64_t trailing;
  double epsilon;
};

/// centred / deviation, centred * (1 / deviation)
std::optional<Normalised> matchNormalised(Value value) {
  auto match = [](Value centred, Value deviation) -> std::optional<Normalised> {
    std::optional<RowMean> row = matchCentred(centred);
    std::optional<double> epsilon = row ? matchDeviation(deviation, centred, row->trailing) : std::nullopt;
    if (!epsilon)
      return std::nullopt;
    return Normalised{row->operand, row->trailing, *epsilon};
  };
  if (auto quotient = value.getDefiningOp<DivOp>())
    return match(quotient.getLhs(), quotient.getRhs());
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return std::nullopt;
  for (auto [centred, inverse] :
       {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
    if (auto reciprocal = stripRow(inverse).getDefiningOp<ReciprocalOp>())
      if (auto found = match(centred, reciprocal.getOperand()))
        return found;
  }
  return std::nullopt;
}

/// A weight of the normalised dimensions, repeated over rows.
Value matchWeight(Value value, RankedTensorType type, int64_t trailing) {
  Value weight = stripBroadcast(value);
  return cast<RankedTensorType>(weight.getType()).getShape() == type.getShape().take_back(trailing) ? weight
                                                                                                    : Value();
}

struct RaiseLayerNorm {
  /// `result` = normalised * scale
  static std::optional<std::pair<Normalised, Value>> matchScaled(Value value) {
    auto product = value.getDefiningOp<MulOp>();
    if (!product)
      return std::nullopt;
    for (auto [left, right] :
         {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
      std::optional<Normalised> normalised = matchNormalised(left);
      Value scale = normalised ? matchWeight(right, product.getType(), normalised->trailing) : Value();
      if (scale)
        return std::pair(*normalised, scale);
    }
    return std::nullopt;
  }

  static Value build(PatternRewriter &rewriter, Location location, const Normalised &norm, Value scale,
                     Value bias) {
    auto type = cast<RankedTensorType>(norm.x.getType());
    Type statistic = type.clone(type.getShape().drop_back(norm.trailing));
    return LayerNormOp::create(rewriter, location, TypeRange{type, statistic, statistic}, norm.x, scale, bias,
                               rewriter.getF64FloatAttr(norm.epsilon))
        .getResult();
  }
};

struct RaiseWithBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [left, right] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto scaled = RaiseLayerNorm::matchScaled(left);
      Value bias = scaled ? matchWeight(right, op.getType(), scaled->first.trailing) : Value();
      if (!bias)
        continue;
      rewriter.replaceOp(op,
                         RaiseLayerNorm::build(rewriter, op.getLoc(), scaled->first, scaled->second, bias));
      return success();
    }
    return failure();
  }
};

struct RaiseWithoutBias : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    auto scaled = RaiseLayerNorm::matchScaled(op.getResult());
    if (!scaled)
      return failure();
    rewriter.replaceOp(op,
                       RaiseLayerNorm::build(rewriter, op.getLoc(), scaled->first, scaled->second, Value()));
    return success();
  }
};

} // namespace

void zero::addRaiseLayerNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseWithBias>(patterns.getContext(), /*benefit=*/2);
  patterns.add<RaiseWithoutBias>(patterns.getContext(), /*benefit=*/1);
}
