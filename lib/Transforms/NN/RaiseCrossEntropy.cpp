//===- RaiseCrossEntropy.cpp - Losses that a model computes itself --------===//
//
//   sum over positions of (label != ignored ? -log_softmax(x)[position, label] : 0)  ->  nn.cross_entropy
//
// log_softmax is x - max - log(sum(exp(x - max))) along the last dimension; its element is gathered by
// position * classes + label, as importers write GatherElements. The composite neither stores the
// probabilities nor scatters the gradient. Other sums of the same terms (weighted classes) stay.
//
//===----------------------------------------------------------------------===//
#include "IndexForms.h"
#include "RaisePatterns.h"
#include "Repeated.h"
#include "TensorViews.h"

#include "dialects/NN/TensorBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// The number that every element of an integer constant is.
std::optional<int64_t> splatInteger(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !splat.getElementType().isSignlessInteger())
    return std::nullopt;
  return splat.getSplatValue<APInt>().getSExtValue();
}

/// Past reshapes.
Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// The rows' statistic that `wide` repeats along its last dimension, or null.
Value matchRowStatistic(Value wide) {
  ArrayRef<int64_t> shape = shapeOf(wide);
  Repeated row = Repeated(wide).stripped();
  return row.runsAlong(llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1)), shape) ? row.value : Value();
}

/// The operand of a reduction of `kind` along the last dimension alone.
Value matchRowReduction(Value value, ReduceKind kind) {
  auto reduce = value ? stripReshapes(value).getDefiningOp<ReduceOp>() : nullptr;
  if (!reduce || reduce.getKind() != kind || reduce.getAxes().size() != 1 ||
      reduce.getAxes().front() != reduce.getOperand().getType().getRank() - 1)
    return nullptr;
  return reduce.getOperand();
}

/// x, where `value` is log_softmax(x) along the last dimension.
Value matchLogSoftmax(Value value) {
  auto difference = value.getDefiningOp<SubOp>();
  auto shifted = difference ? difference.getLhs().getDefiningOp<SubOp>() : nullptr;
  if (!shifted || matchRowReduction(matchRowStatistic(shifted.getRhs()), ReduceKind::max) != shifted.getLhs())
    return nullptr;
  Value statistic = matchRowStatistic(difference.getRhs());
  auto log = statistic ? statistic.getDefiningOp<LogOp>() : nullptr;
  Value terms = log ? matchRowReduction(log.getOperand(), ReduceKind::sum) : Value();
  auto exp = terms ? terms.getDefiningOp<ExpOp>() : nullptr;
  return exp && exp.getOperand() == shifted.getResult() ? shifted.getLhs() : Value();
}

/// i, where `value` is i < 0 ? i + size : i, as importers write an index that may count from the end.
Value stripCountFromEnd(Value value, int64_t size) {
  auto select = value.getDefiningOp<SelectOp>();
  auto below = select ? select.getCondition().getDefiningOp<CompareOp>() : nullptr;
  auto sum = select ? select.getOnTrue().getDefiningOp<AddOp>() : nullptr;
  bool counts = below && sum && below.getPredicate() == ComparePredicate::lt &&
                below.getLhs() == select.getOnFalse() && splatInteger(below.getRhs()) == 0 &&
                ((sum.getLhs() == select.getOnFalse() && splatInteger(sum.getRhs()) == size) ||
                 (sum.getRhs() == select.getOnFalse() && splatInteger(sum.getLhs()) == size));
  return counts ? select.getOnFalse() : value;
}

/// L, where `value` is position * classes + L for positions in row-major order among `size` elements, or that
/// where 0 <= L < classes and a number outside everything elsewhere.
Value matchLabels(Value value, int64_t classes, int64_t size) {
  Value condition;
  value = stripCountFromEnd(value, size);
  if (auto select = value.getDefiningOp<SelectOp>()) {
    std::optional<int64_t> outside = splatInteger(select.getOnFalse());
    if (!outside || *outside >= 0)
      return nullptr;
    condition = select.getCondition();
    value = select.getOnTrue();
  }
  IndexForms forms;
  ArrayRef<int64_t> shape = shapeOf(value);
  IndexForm sum{0, SmallVector<int64_t>(shape.size(), 0)};
  Value labels;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value term = work.pop_back_val();
    if (const std::optional<IndexForm> &form = forms.of(term)) {
      sum.constant += form->constant;
      for (auto [into, coefficient] : llvm::zip_equal(sum.coefficients, form->coefficients))
        into += coefficient;
    } else if (auto add = term.getDefiningOp<AddOp>()) {
      work.append({add.getLhs(), add.getRhs()});
    } else if (!labels) {
      labels = term;
    } else {
      return nullptr;
    }
  }
  int64_t stride = classes;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    if (shape[dim] != 1 && sum.coefficients[dim] != stride)
      return nullptr;
  if (!labels || sum.constant != 0)
    return nullptr;
  if (condition) {
    auto both = condition.getDefiningOp<AndOp>();
    auto low = both ? both.getLhs().getDefiningOp<CompareOp>() : nullptr,
         high = both ? both.getRhs().getDefiningOp<CompareOp>() : nullptr;
    if (!low || !high || low.getLhs() != labels || high.getLhs() != labels ||
        low.getPredicate() != ComparePredicate::ge || splatInteger(low.getRhs()) != 0 ||
        high.getPredicate() != ComparePredicate::lt || splatInteger(high.getRhs()) != classes)
      return nullptr;
  }
  return labels;
}

/// sign * the log-probability of each position's label, or 0 where `ignored`.
struct Terms {
  double sign = 1;
  Value ignored, logits, labels;
};
std::optional<Terms> matchTerms(Value value) {
  Terms terms;
  auto ignore = [&](Value condition) {
    condition = stripReshapes(condition);
    if (terms.ignored && terms.ignored != condition)
      return false;
    terms.ignored = condition;
    return true;
  };
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<ReshapeOp>(op)) {
      value = op->getOperand(0);
    } else if (isa_and_nonnull<NegOp>(op)) {
      terms.sign = -terms.sign;
      value = op->getOperand(0);
    } else if (auto select = dyn_cast_or_null<SelectOp>(op)) {
      if (splatNumber(select.getOnTrue()) != 0.0 || !ignore(select.getCondition()))
        return std::nullopt;
      value = select.getOnFalse();
    } else if (auto product = dyn_cast_or_null<MulOp>(op)) {
      // A weight of 0 where it is ignored, and of 1 elsewhere.
      auto isWeight = [&](Value factor) {
        auto weight = factor.getDefiningOp<SelectOp>();
        return weight && splatNumber(weight.getOnTrue()) == 0.0 && splatNumber(weight.getOnFalse()) == 1.0 &&
               ignore(weight.getCondition());
      };
      if (isWeight(product.getRhs()))
        value = product.getLhs();
      else if (isWeight(product.getLhs()))
        value = product.getRhs();
      else
        return std::nullopt;
    } else {
      break;
    }
  }
  auto gather = value.getDefiningOp<GatherOp>();
  if (!gather || gather.getAxis() != 0 || gather.getData().getType().getRank() != 1)
    return std::nullopt;
  Value probabilities = stripReshapes(gather.getData());
  terms.logits = matchLogSoftmax(probabilities);
  if (!terms.logits)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(terms.logits);
  Type index = gather.getIndices().getType().getElementType();
  if (!index.isSignlessInteger(32) && !index.isSignlessInteger(64))
    return std::nullopt;
  terms.labels = matchLabels(gather.getIndices(), shape.back(), gather.getData().getType().getNumElements());
  if (!terms.labels || shape.back() == 0 ||
      gather.getIndices().getType().getNumElements() * shape.back() != gather.getData().getType().getNumElements())
    return std::nullopt;
  return terms;
}

struct RaiseCrossEntropy : OpRewritePattern<ReduceOp> {
  RaiseCrossEntropy(MLIRContext *context, RaiseRemarks &remarks)
      : OpRewritePattern(context), remarks(remarks) {}

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (op.getKind() != ReduceKind::sum || type.getRank() != 0 ||
        !(type.getElementType().isF32() || type.getElementType().isF64()))
      return failure();
    // Sums of sums are one.
    Value all = op.getOperand();
    for (;;) {
      auto inner = stripReshapes(all).getDefiningOp<ReduceOp>();
      if (!inner || inner.getKind() != ReduceKind::sum)
        break;
      all = inner.getOperand();
    }
    if (!cast<RankedTensorType>(all.getType()).hasStaticShape())
      return failure();
    std::optional<Terms> terms = matchTerms(all);
    if (!terms || cast<RankedTensorType>(terms->logits.getType()).getElementType() != type.getElementType())
      return failure();

    TensorBuilder b(rewriter, op.getLoc());
    // No label: an index of it would have ended the step.
    constexpr int64_t kIgnored = std::numeric_limits<int32_t>::min();
    SmallVector<int64_t> positions(shapeOf(terms->logits).drop_back());
    Value labels = b.reshape(terms->labels, positions);
    if (terms->ignored)
      labels = b.select(b.reshape(terms->ignored, positions), b.splatLike(labels, kIgnored), labels);
    auto logits = cast<RankedTensorType>(terms->logits.getType());
    auto raised = CrossEntropyOp::create(
        rewriter, op.getLoc(),
        TypeRange{type, RankedTensorType::get({}, rewriter.getI64Type()), logits.clone(positions)}, terms->logits,
        labels, rewriter.getI64IntegerAttr(kIgnored));
    remarks.raised(op.getLoc(), "nn.cross_entropy", terms->ignored ? "with labels that do not count" : "");
    rewriter.replaceOp(op, terms->sign < 0 ? raised.getLossSum() : b.neg(raised.getLossSum()));
    return success();
  }

private:
  RaiseRemarks &remarks;
};

} // namespace

void zero::addRaiseCrossEntropyPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseCrossEntropy>(patterns.getContext(), remarks);
}
