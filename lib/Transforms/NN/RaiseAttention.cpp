//===- RaiseAttention.cpp - Spelled-out attention to nn.attention ---------===//
//
//   softmax(scale * q k^T + mask) v, with any of: scale on q, on k or on the scores; masks added to the
//   scores or selected into them (AttentionScores.h); a guard that replaces the NaN of a row without entries;
//   batch and heads in one dimension; keys and values repeated for groups of heads.
//
// A mask is `causal` where its condition compares positions so that t sees s <= t + S - T and what it hides
// is so low that exp of it is 0.
//
//===----------------------------------------------------------------------===//
#include "AttentionScores.h"
#include "RaisePatterns.h"
#include "TensorViews.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// The probabilities that `value` is: past a guard select(p != p, 0, p) and reshapes in front of the last two
/// dimensions.
struct Probabilities {
  SoftmaxOp softmax;
  bool isGuarded = false;
  SmallVector<SmallVector<int64_t>> shapes;
};
std::optional<Probabilities> matchProbabilities(Value value, Operation *reader) {
  Probabilities found;
  for (;;) {
    // Who else reads the probabilities keeps them alive: attention would compute them once more.
    if (!llvm::all_of(value.getUsers(), [&](Operation *user) {
          return user == reader || (found.isGuarded && isa<CompareOp>(user) &&
                                    llvm::all_of(user->getUsers(), [&](Operation *o) { return o == reader; }));
        }))
      return std::nullopt;
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.hasStaticShape() || type.getRank() < 3)
      return std::nullopt;
    found.shapes.emplace_back(type.getShape());
    Operation *op = value.getDefiningOp();
    if (auto reshape = dyn_cast_or_null<ReshapeOp>(op)) {
      if (reshape.getOperand().getType().getRank() < 3 ||
          shapeOf(reshape.getOperand()).take_back(2) != type.getShape().take_back(2))
        return std::nullopt;
      value = reshape.getOperand();
    } else if (auto select = dyn_cast_or_null<SelectOp>(op)) {
      auto isNaN = select.getCondition().getDefiningOp<CompareOp>();
      if (!isNaN || isNaN.getPredicate() != ComparePredicate::ne || isNaN.getLhs() != select.getOnFalse() ||
          isNaN.getRhs() != select.getOnFalse() || splatNumber(select.getOnTrue()) != 0.0)
        return std::nullopt;
      found.isGuarded = true;
      value = select.getOnFalse();
    } else {
      found.softmax = dyn_cast_or_null<SoftmaxOp>(op);
      if (!found.softmax || static_cast<int64_t>(found.softmax.getAxis()) != type.getRank() - 1)
        return std::nullopt;
      return found;
    }
    reader = op;
  }
}

/// B x H x T x S: the leading dimensions of the scores as batch and heads.
SmallVector<int64_t> findHeads(ArrayRef<SmallVector<int64_t>> shapes, const View &query) {
  ArrayRef<int64_t> product = shapes.back();
  int64_t T = product[product.size() - 2], S = product.back(), count = 1;
  for (int64_t size : product.drop_back(2))
    count *= size;
  for (ArrayRef<int64_t> shape : shapes)
    if (shape.size() == 4)
      return SmallVector<int64_t>(shape);
  if (product.size() > 4)
    return {product[0], product[0] == 0 ? 0 : count / product[0], T, S};
  // Batch and heads are one dimension: heads are what fills the base's last dimension, beside each other.
  ArrayRef<int64_t> base = shapeOf(query.base);
  int64_t headSize = query.sizes.back(), heads = 1;
  if (!base.empty() && headSize > 0 && base.back() % headSize == 0 && query.strides[0] == headSize &&
      count % (base.back() / headSize) == 0)
    heads = base.back() / headSize;
  return {count / heads, heads, T, S};
}

struct RaiseAttention : OpRewritePattern<MatmulOp> {
  RaiseAttention(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern(context), remarks(remarks) {}

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().getElementType().isF32() || op.getType().getRank() < 3 || op.getTransposeLhs() || !op.getType().hasStaticShape() ||
        !op.getRhs().getType().hasStaticShape())
      return failure();
    std::optional<Probabilities> probabilities = matchProbabilities(op.getLhs(), op);
    if (!probabilities)
      return failure();
    std::optional<AttentionScores> scores = matchScores(probabilities->softmax);
    if (!scores)
      return failure();

    // In the matmul's own order of dimensions: q .. x T x D, k .. x S x D, v .. x S x D.
    MatmulOp product = scores->product;
    View query = viewOf(product.getLhs()), key = viewOf(product.getRhs()), value = viewOf(op.getRhs());
    auto swapInner = [](View &view) { view.swap(view.sizes.size() - 2, view.sizes.size() - 1); };
    if (product.getTransposeLhs())
      swapInner(query);
    if (!product.getTransposeRhs())
      swapInner(key);
    if (op.getTransposeRhs())
      swapInner(value);
    SmallVector<SmallVector<int64_t>> shapes = probabilities->shapes;
    llvm::append_range(shapes, scores->shapes);
    SmallVector<int64_t> shape = findHeads(shapes, query); // B x H x T x S
    int64_t headSize = query.sizes.back();
    if (headSize != value.sizes.back() || value.factor != 1)
      return failure();
    auto splitHeads = [&](View &view, int64_t positions) {
      std::optional<View> split = reshapeView(view, {shape[0], shape[1], positions, headSize});
      if (split)
        view = *split;
      return split.has_value();
    };
    // What does not come apart is read where the matmul reads it.
    auto readWhole = [&](View &view, Value operand, bool isTransposed, int64_t positions) {
      view = wholeView(operand);
      if (isTransposed)
        swapInner(view);
      return splitHeads(view, positions);
    };
    if ((!splitHeads(query, shape[2]) &&
         !readWhole(query, product.getLhs(), product.getTransposeLhs(), shape[2])) ||
        (!splitHeads(key, shape[3]) &&
         !readWhole(key, product.getRhs(), !product.getTransposeRhs(), shape[3])) ||
        (!splitHeads(value, shape[3]) && !readWhole(value, op.getRhs(), op.getTransposeRhs(), shape[3])))
      return failure();
    int64_t copies = 1;
    auto keyGroups = stripRepeat(key, 1), valueGroups = stripRepeat(value, 1);
    if (keyGroups && valueGroups && keyGroups->second == valueGroups->second &&
        keyGroups->first.sizes == valueGroups->first.sizes && valueGroups->first.factor == 1) {
      key = keyGroups->first;
      value = valueGroups->first;
      copies = keyGroups->second;
    }

    Location location = op.getLoc();
    std::optional<AttentionMask> mask =
        buildMask(rewriter, location, scores->layers, shape, probabilities->isGuarded);
    if (!mask)
      return failure();
    auto layout = [&](const View &view) { return materialise(rewriter, location, view, {0, 2, 1, 3}); };
    Value q = layout(query), k = layout(key), v = layout(value);
    auto type = cast<RankedTensorType>(q.getType());
    Value zero, hasEntry;
    if (mask->hasEntry) {
      hasEntry = rowsOfQueries(rewriter, location, mask->hasEntry, type);
      zero = ConstantOp::create(rewriter, location, type,
                                SplatElementsAttr::get(type, rewriter.getFloatAttr(type.getElementType(), 0)));
      if (mask->dropsScores)
        q = SelectOp::create(rewriter, location, type, hasEntry, q, zero);
    }
    double scale = scores->scale * query.factor * key.factor;
    Type statistic = type.clone({shape[0], shape[1], shape[2]});
    auto attention = AttentionOp::create(rewriter, location, TypeRange{type, statistic}, q, k, v, mask->mask,
                                         rewriter.getF64FloatAttr(scale),
                                         mask->isCausal ? rewriter.getUnitAttr() : UnitAttr());
    Value result = attention.getResult();
    if (mask->hasEntry && !mask->dropsScores)
      result = SelectOp::create(rewriter, location, type, hasEntry, result, zero);
    remark(op, *mask, shape, copies);
    result = TransposeOp::create(rewriter, location, type.clone({shape[0], shape[1], shape[2], headSize}),
                                 result, ArrayRef<int64_t>{0, 2, 1, 3});
    rewriter.replaceOp(op, rewriter.createOrFold<ReshapeOp>(location, op.getType(), result));
    return success();
  }

private:
  /// (B or 1) x (H or 1) x (T or 1) repeated to B x T x H x D.
  static Value rowsOfQueries(PatternRewriter &rewriter, Location location, Value rows, RankedTensorType type) {
    auto rowType = cast<RankedTensorType>(rows.getType());
    ArrayRef<int64_t> from = rowType.getShape();
    Type swapped = rowType.clone({from[0], from[2], from[1]});
    rows = from[1] == 1 || from[2] == 1
               ? rewriter.createOrFold<ReshapeOp>(location, swapped, rows)
               : TransposeOp::create(rewriter, location, swapped, rows, ArrayRef<int64_t>{0, 2, 1}).getResult();
    return BroadcastOp::create(rewriter, location, type.clone(rowType.getElementType()), rows,
                               ArrayRef<int64_t>{0, 1, 2});
  }

  void remark(MatmulOp op, const AttentionMask &mask, ArrayRef<int64_t> shape, int64_t copies) const {
    std::string text = std::to_string(shape[1]) + (shape[1] == 1 ? " head" : " heads");
    if (copies > 1)
      text += " in " + std::to_string(shape[1] / copies) + (shape[1] == copies ? " group" : " groups");
    text += mask.isCausal && mask.mask ? ", causal and masked" : mask.isCausal ? ", causal" : mask.mask ? ", masked" : "";
    if (mask.hasEntry)
      text += ", rows without an entry apart";
    remarks.raised(op.getLoc(), "nn.attention", text);
  }

  RaiseRemarks &remarks;
};

} // namespace

void zero::addRaiseAttentionPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseAttention>(patterns.getContext(), remarks);
}
