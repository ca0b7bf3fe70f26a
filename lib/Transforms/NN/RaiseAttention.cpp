//===- RaiseAttention.cpp - Spelled-out attention to nn.attention ---------===//
//
//   softmax(scale * q k^T + mask) v, with any of: scale on q, on k or on the scores; a mask added to the
//   scores or selected into them; a guard that replaces the NaN of a row without entries.
//
// A mask is `causal` where its condition compares positions so that t sees s <= t + S - T and what it hides
// is the lowest number. The guard goes only where every row has an entry: without a mask, or causal with S >=
// T.
//
//===----------------------------------------------------------------------===//
#include "IndexForms.h"
#include "RaisePatterns.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

//===----------------------------------------------------------------------===//
// Views: a tensor as a permutation of the row-major elements of another
//===----------------------------------------------------------------------===//

/// factor * base, read with these sizes and strides.
struct View {
  Value base;
  double factor = 1;
  SmallVector<int64_t> sizes, strides;
};

View whole(Value value) {
  View view{value, 1, SmallVector<int64_t>(shapeOf(value)), {}};
  view.strides.resize(view.sizes.size());
  int64_t stride = 1;
  for (size_t dim = view.sizes.size(); dim-- > 0; stride *= view.sizes[dim])
    view.strides[dim] = stride;
  return view;
}

/// The strides of the view under another shape, if it has any.
std::optional<SmallVector<int64_t>> reshapeStrides(const View &view, ArrayRef<int64_t> to) {
  SmallVector<int64_t> strides(to.size(), 0), sizes, old;
  for (auto [size, stride] : llvm::zip_equal(view.sizes, view.strides))
    if (size != 1) {
      sizes.push_back(size);
      old.push_back(stride);
    }
  size_t i = 0;
  for (size_t j = 0; j < to.size();) {
    if (to[j] == 1) {
      ++j;
      continue;
    }
    if (i == sizes.size())
      return std::nullopt;
    size_t firstI = i, firstJ = j;
    int64_t left = sizes[i++], right = to[j++];
    while (left != right) {
      if (left < right && i < sizes.size())
        left *= sizes[i++];
      else if (right < left && j < to.size())
        right *= to[j++];
      else
        return std::nullopt;
    }
    for (size_t dim = firstI; dim + 1 < i; ++dim)
      if (old[dim] != old[dim + 1] * sizes[dim + 1])
        return std::nullopt; // not one run of elements
    int64_t stride = old[i - 1];
    for (size_t dim = j; dim-- > firstJ; stride *= to[dim])
      strides[dim] = stride;
  }
  return strides;
}

/// Follows transposes, reshapes and multiplications with numbers back to where the elements come from.
View viewOf(Value value) {
  Scaled scaled = stripScale(value);
  if (scaled.rest != value) {
    View view = viewOf(scaled.rest);
    view.factor *= scaled.factor;
    return view;
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    View from = viewOf(transpose.getOperand()), view = from;
    for (auto [to, dim] : llvm::enumerate(transpose.getPermutation())) {
      view.sizes[to] = from.sizes[dim];
      view.strides[to] = from.strides[dim];
    }
    return view;
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && !reshape.getShape()) {
    View view = viewOf(reshape.getOperand());
    if (auto strides = reshapeStrides(view, reshape.getType().getShape())) {
      view.sizes.assign(shapeOf(value).begin(), shapeOf(value).end());
      view.strides = std::move(*strides);
      return view;
    }
  }
  return whole(value);
}

/// The view's elements with its dimensions in the given order, as a reshape (and a transpose, where none
/// cancels).
Value materialise(PatternRewriter &rewriter, Location location, const View &view, ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(view.base.getType());
  SmallVector<int64_t> stored(order), wanted;
  // How the elements lie: dimensions by falling stride. A dimension of size 1 lies anywhere: where it is
  // wanted, if the others do so too, else in front.
  SmallVector<int64_t> counting;
  llvm::copy_if(order, std::back_inserter(counting), [&](int64_t dim) { return view.sizes[dim] != 1; });
  bool isStored =
      llvm::is_sorted(counting, [&](int64_t a, int64_t b) { return view.strides[a] > view.strides[b]; });
  if (!isStored)
    llvm::sort(stored, [&](int64_t a, int64_t b) {
      auto place = [&](int64_t dim) {
        return std::tuple(view.sizes[dim] != 1, view.sizes[dim] != 1 ? -view.strides[dim] : 0, dim);
      };
      return place(a) < place(b);
    });
  SmallVector<int64_t> sizes, permutation;
  for (int64_t dim : stored)
    sizes.push_back(view.sizes[dim]);
  Value result = rewriter.createOrFold<ReshapeOp>(location, type.clone(sizes), view.base);
  if (isStored)
    return result;
  for (int64_t dim : order) {
    permutation.push_back(llvm::find(stored, dim) - stored.begin());
    wanted.push_back(view.sizes[dim]);
  }
  return rewriter.createOrFold<TransposeOp>(location, type.clone(wanted), result, permutation);
}

/// Undoes what grouped-query attention repeats: B x G x S x D broadcast to B x G x n x S x D and read as
/// heads G x n. The view of B x G x S x D, and n; none if the view repeats nothing.
std::optional<std::pair<View, int64_t>> stripRepeat(const View &view) {
  auto broadcast = view.base.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getType().getRank() != 5 || view.sizes.size() != 4)
    return std::nullopt;
  ArrayRef<int64_t> wide = broadcast.getType().getShape();
  int64_t group = wide[3] * wide[4], heads = wide[1] * wide[2];
  bool isInner =
      view.strides[2] < group && view.strides[3] < group && view.sizes[2] != 1 && view.sizes[3] != 1;
  if (!isInner || view.sizes[0] != wide[0] || view.sizes[1] != heads || view.strides[1] != group ||
      (wide[0] != 1 && view.strides[0] != heads * group))
    return std::nullopt;
  // The operand has the four dimensions, and perhaps a 1 where they are repeated.
  View from = viewOf(broadcast.getOperand());
  View narrow{from.base, view.factor * from.factor, {}, {}};
  for (auto [index, dim] : llvm::enumerate(broadcast.getDims())) {
    int64_t size = from.sizes[index];
    if (size != (dim == 2 ? 1 : wide[dim]))
      return std::nullopt;
    if (dim == 2)
      continue;
    narrow.sizes.push_back(size);
    narrow.strides.push_back(from.strides[index]);
  }
  if (narrow.sizes.size() != 4)
    return std::nullopt;
  if (view.strides[2] < view.strides[3]) { // read as D x S
    std::swap(narrow.sizes[2], narrow.sizes[3]);
    std::swap(narrow.strides[2], narrow.strides[3]);
  }
  return std::pair(narrow, wide[2]);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Whether a number added to a score, or put in its place, hides the position: exp of it is 0 beside any real
/// score.
bool hides(double number, Type element) {
  double lowest = -APFloat::getLargest(cast<FloatType>(element).getFloatSemantics()).convertToDouble();
  return number <= -1e9 || number <= lowest;
}

ComparePredicate inverse(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::eq:
    return ComparePredicate::ne;
  case ComparePredicate::ne:
    return ComparePredicate::eq;
  case ComparePredicate::lt:
    return ComparePredicate::ge;
  case ComparePredicate::le:
    return ComparePredicate::gt;
  case ComparePredicate::gt:
    return ComparePredicate::le;
  case ComparePredicate::ge:
    return ComparePredicate::lt;
  }
  llvm_unreachable("unknown predicate");
}

/// True where the condition holds exactly for s <= t + S - T; T and S are the last two sizes of `scores`.
bool isCausal(Value condition, ArrayRef<int64_t> scores, bool isInverted) {
  condition = stripBroadcast(condition);
  if (auto negation = condition.getDefiningOp<NotOp>())
    return isCausal(negation.getOperand(), scores, !isInverted);
  auto comparison = condition.getDefiningOp<CompareOp>();
  ArrayRef<int64_t> shape = shapeOf(condition);
  if (!comparison || shape.size() < 2 || shape.take_back(2) != scores.take_back(2))
    return false;
  IndexForms forms;
  std::optional<IndexForm> lhs = forms.of(comparison.getLhs()), rhs = forms.of(comparison.getRhs());
  if (!lhs || !rhs)
    return false;
  ComparePredicate predicate = isInverted ? inverse(comparison.getPredicate()) : comparison.getPredicate();
  // lhs - rhs, as a s + b t + c <= 0
  if (predicate == ComparePredicate::ge || predicate == ComparePredicate::gt)
    std::swap(lhs, rhs);
  else if (predicate != ComparePredicate::le && predicate != ComparePredicate::lt)
    return false;
  bool isStrict = predicate == ComparePredicate::lt || predicate == ComparePredicate::gt;
  int64_t c = lhs->constant - rhs->constant + (isStrict ? 1 : 0);
  SmallVector<int64_t> coefficients;
  for (auto [a, b] : llvm::zip_equal(lhs->coefficients, rhs->coefficients))
    coefficients.push_back(a - b);
  int64_t s = coefficients.pop_back_val(), t = coefficients.pop_back_val();
  if (llvm::any_of(coefficients, [](int64_t a) { return a != 0; }))
    return false;
  int64_t T = scores[scores.size() - 2], S = scores.back();
  if (T == 1 || S == 1) // a dimension of size 1 has no coefficient
    return T == 1 && S == 1 && c <= 0;
  return s > 0 && t == -s && llvm::divideFloorSigned(-c, s) == S - T;
}

struct Mask {
  bool isCausal = false;
  Value additive; // or null
};

/// select(condition, a, b) of numbers: 0 where a position is seen and a hiding number elsewhere.
bool isCausalNumbers(Value mask, ArrayRef<int64_t> scores, double scale) {
  auto select = stripBroadcast(mask).getDefiningOp<SelectOp>();
  if (!select)
    return false;
  Type element = select.getType().getElementType();
  std::optional<double> onTrue = splatNumber(select.getOnTrue()), onFalse = splatNumber(select.getOnFalse());
  if (!onTrue || !onFalse)
    return false;
  if (*onTrue == 0 && hides(*onFalse * scale, element))
    return isCausal(select.getCondition(), scores, /*isInverted=*/false);
  return *onFalse == 0 && hides(*onTrue * scale, element) &&
         isCausal(select.getCondition(), scores, /*isInverted=*/true);
}

/// Strips one mask from the scores, if there is one that attention can take; `scale` is what multiplies them
/// outside it.
Value stripMask(Value scores, double scale, Mask &mask) {
  if (auto select = scores.getDefiningOp<SelectOp>()) {
    Type element = select.getType().getElementType();
    std::optional<double> onTrue = splatNumber(select.getOnTrue()),
                          onFalse = splatNumber(select.getOnFalse());
    bool isSeenOnTrue = onFalse && hides(*onFalse, element),
         isSeenOnFalse = onTrue && hides(*onTrue, element);
    if (isSeenOnTrue == isSeenOnFalse || !isCausal(select.getCondition(), shapeOf(scores), isSeenOnFalse))
      return nullptr;
    mask.isCausal = true;
    return isSeenOnTrue ? select.getOnTrue() : select.getOnFalse();
  }
  auto sum = scores.getDefiningOp<AddOp>();
  if (!sum)
    return nullptr;
  for (auto [rest, part] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
    if (isCausalNumbers(part, shapeOf(scores), scale)) {
      mask.isCausal = true;
      return rest;
    }
  if (mask.additive)
    return nullptr;
  for (auto [rest, part] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
    if (stripScale(rest).rest.getDefiningOp<MatmulOp>() && !stripScale(part).rest.getDefiningOp<MatmulOp>()) {
      mask.additive = part;
      return rest;
    }
  return nullptr;
}

/// The mask as (B or 1) x (H or 1) x T x S.
Value maskOperand(PatternRewriter &rewriter, Location location, Value mask) {
  ArrayRef<int64_t> full = shapeOf(mask);
  Value narrow = stripBroadcast(mask);
  SmallVector<int64_t> shape(shapeOf(narrow));
  if (shape.size() < 2 || ArrayRef(shape).take_back(2) != full.take_back(2))
    return mask;
  shape.insert(shape.begin(), full.size() - shape.size(), 1);
  return rewriter.createOrFold<ReshapeOp>(location, cast<RankedTensorType>(mask.getType()).clone(shape),
                                          narrow);
}

/// A mask that the loss is not differentiated through: attention gives it no gradient.
bool isWithoutGradient(Value value) {
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(next);
      auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
      auto role =
          function ? function.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), kRoleAttrName) : RoleAttr();
      if (!role || role.getKind() == RoleKind::Parameter)
        return false;
      continue;
    }
    if (seen.insert(op).second && isa<DifferentiableOpInterface>(op))
      llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// select(p != p, 0, p): p where it is a number.
Value stripGuard(Value value) {
  auto select = value.getDefiningOp<SelectOp>();
  auto isNaN = select ? select.getCondition().getDefiningOp<CompareOp>() : nullptr;
  if (!isNaN || isNaN.getPredicate() != ComparePredicate::ne || isNaN.getLhs() != select.getOnFalse() ||
      isNaN.getRhs() != select.getOnFalse() || splatNumber(select.getOnTrue()) != 0.0)
    return value;
  return select.getOnFalse();
}

struct RaiseAttention : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    if (op.getType().getRank() != 4 || op.getTransposeLhs() || !op.getType().hasStaticShape() ||
        !op.getLhs().getType().hasStaticShape())
      return failure();
    auto softmax = stripGuard(op.getLhs()).getDefiningOp<SoftmaxOp>();
    bool isGuarded = softmax && softmax.getResult() != op.getLhs();
    if (!softmax || softmax.getAxis() != 3)
      return failure();

    // Outside in: masks and scales, down to the product of q and k.
    Mask mask;
    double scale = 1;
    Value scores = softmax.getOperand();
    while (!scores.getDefiningOp<MatmulOp>()) {
      Scaled scaled = stripScale(scores);
      if (scaled.rest != scores) {
        if (mask.additive && scaled.factor <= 0)
          return failure();
        scale *= scaled.factor;
        scores = scaled.rest;
        continue;
      }
      // A scale outside a mask scales it too: nothing changes for hidden and seen, but for other numbers.
      bool isScaled = scale != 1;
      Value rest = stripMask(scores, scale, mask);
      if (!rest || (isScaled && (mask.additive || scale <= 0)))
        return failure();
      scores = rest;
    }
    auto product = scores.getDefiningOp<MatmulOp>();
    ArrayRef<int64_t> shape = shapeOf(scores); // B x H x T x S
    if (isGuarded && (mask.additive || (mask.isCausal && shape[3] < shape[2])))
      return failure();
    if (mask.additive && !isWithoutGradient(mask.additive))
      return failure();

    if (!product.getLhs().getType().hasStaticShape())
      return failure();
    View query = viewOf(product.getLhs()), key = viewOf(product.getRhs()), value = viewOf(op.getRhs());
    auto keyGroups = stripRepeat(key), valueGroups = stripRepeat(value);
    if (keyGroups && valueGroups && keyGroups->second == valueGroups->second) {
      key = keyGroups->first;
      value = valueGroups->first;
    }
    // In the matmul's own order of dimensions: q B x H x T x D, k B x H x S x D, v B x H x S x D.
    auto swapInner = [](View &view) {
      std::swap(view.sizes[2], view.sizes[3]);
      std::swap(view.strides[2], view.strides[3]);
    };
    if (product.getTransposeLhs())
      swapInner(query);
    if (!product.getTransposeRhs())
      swapInner(key);
    if (op.getTransposeRhs())
      swapInner(value);
    if (query.sizes[3] != value.sizes[3] || value.factor != 1)
      return failure();

    Location location = op.getLoc();
    auto layout = [&](const View &view) { return materialise(rewriter, location, view, {0, 2, 1, 3}); };
    Value q = layout(query), k = layout(key), v = layout(value);
    Value additive = mask.additive ? maskOperand(rewriter, location, mask.additive) : Value();
    auto type = cast<RankedTensorType>(q.getType());
    Type statistic = type.clone({shape[0], shape[1], shape[2]});
    auto attention = AttentionOp::create(rewriter, location, TypeRange{type, statistic}, q, k, v, additive,
                                         rewriter.getF64FloatAttr(scale * query.factor * key.factor),
                                         mask.isCausal ? rewriter.getUnitAttr() : UnitAttr());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), attention.getResult(),
                                             ArrayRef<int64_t>{0, 2, 1, 3});
    return success();
  }
};

} // namespace

void zero::addRaiseAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseAttention>(patterns.getContext());
}
