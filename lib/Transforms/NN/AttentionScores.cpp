//===- AttentionScores.cpp - What stands between q k^T and its softmax ----===//
//
// Outside in: numbers that scale, masks that are added, masks that are selected. Selecting a number in place
// of a score becomes adding it: beside any entry that is seen, exp of it is 0 either way. A row without an
// entry is another matter: there the selected numbers themselves are what softmax sees, and no gradient
// reaches the scores. Where no proof says that there is no such row, attention gets a query of 0 for it,
// which is the same.
//
//===----------------------------------------------------------------------===//
#include "AttentionScores.h"
#include "IndexForms.h"
#include "RaisePatterns.h"
#include "TensorViews.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Whether a number added to a score, or put in its place, hides the position: exp of it is 0 beside any
/// score that is seen.
bool hides(double number) { return number <= -1e4 * (1 - 1e-6); }

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

/// `reader`: the only one who may read the scores; another would keep them alive.
bool match(Value value, Operation *reader, AttentionScores &found) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape() || type.getRank() < 3 ||
      llvm::any_of(value.getUsers(), [&](Operation *user) { return user != reader; }))
    return false;
  found.shapes.emplace_back(type.getShape());
  if (auto product = value.getDefiningOp<MatmulOp>()) {
    found.product = product;
    return product.getLhs().getType().hasStaticShape() && product.getRhs().getType().hasStaticShape();
  }
  Scaled scaled = stripScale(value);
  if (scaled.rest != value) {
    // One step of stripScale at a time: each has its own reader.
    Operation *op = value.getDefiningOp();
    std::optional<double> right = splatNumber(op->getOperand(1));
    Value rest = op->getOperand(right ? 0 : 1);
    double factor = right ? *right : *splatNumber(op->getOperand(0));
    found.scale = isa<DivOp>(op) ? found.scale / factor : found.scale * factor;
    return match(rest, op, found);
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return reshape.getOperand().getType().getRank() >= 3 &&
           shapeOf(reshape.getOperand()).take_back(2) == type.getShape().take_back(2) &&
           match(reshape.getOperand(), reshape, found);
  if (auto select = value.getDefiningOp<SelectOp>()) {
    std::optional<double> onTrue = splatNumber(select.getOnTrue()),
                          onFalse = splatNumber(select.getOnFalse());
    if (onTrue.has_value() == onFalse.has_value())
      return false;
    double hidden = (onTrue ? *onTrue : *onFalse) * found.scale;
    if (!hides(hidden))
      return false;
    found.layers.push_back(
        {Value(), 1, select.getCondition(), /*isSeenWhere=*/!onTrue.has_value(), hidden, type});
    return match(onTrue ? select.getOnFalse() : select.getOnTrue(), select, found);
  }
  auto matchSum = [&](Value rest, Value added, double factor) {
    AttentionScores saved = found;
    found.layers.push_back({added, factor * found.scale, Value(), true, 0, type});
    if (isWithoutGradient(added) && match(rest, value.getDefiningOp(), found))
      return true;
    found = std::move(saved);
    return false;
  };
  if (auto sum = value.getDefiningOp<AddOp>())
    return matchSum(sum.getLhs(), sum.getRhs(), 1) || matchSum(sum.getRhs(), sum.getLhs(), 1);
  if (auto difference = value.getDefiningOp<SubOp>())
    return matchSum(difference.getLhs(), difference.getRhs(), -1);
  return false;
}

//===----------------------------------------------------------------------===//
// Masks in the smallest shape they have
//===----------------------------------------------------------------------===//

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The value repeated in place to a shape of the same rank.
Value widen(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  return BroadcastOp::create(builder, location, typeOf(value).clone(shape), value, dims);
}

/// The larger size in each dimension.
SmallVector<int64_t> unite(ArrayRef<Value> values) {
  SmallVector<int64_t> shape(shapeOf(values.front()));
  for (Value value : values.drop_front())
    for (auto [into, size] : llvm::zip_equal(shape, shapeOf(value)))
      into = std::max(into, size);
  return shape;
}

/// The value with size 1 in the dimensions along which it is known to repeat itself.
Value narrow(OpBuilder &builder, Location location, Value value) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> ones(type.getRank(), 1);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValueAttr());
    if (!splat)
      return value;
    RankedTensorType point = type.clone(ones);
    return ConstantOp::create(builder, location, point, splat.resizeSplat(point));
  }
  if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
    ones[iota.getAxis()] = type.getDimSize(iota.getAxis());
    return IotaOp::create(builder, location, type.clone(ones), iota.getAxis());
  }
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    Value operand = narrow(builder, location, broadcast.getOperand());
    for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
      ones[to] = shapeOf(operand)[from];
    return builder.createOrFold<ReshapeOp>(location, type.clone(ones), operand);
  }
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op); reshape && !reshape.getShape()) {
    // Only what puts dimensions of size 1 in or takes them out keeps the others apart.
    Value operand = reshape.getOperand();
    auto counting = [](ArrayRef<int64_t> shape) {
      SmallVector<int64_t> dims;
      for (auto [dim, size] : llvm::enumerate(shape))
        if (size != 1)
          dims.push_back(dim);
      return dims;
    };
    SmallVector<int64_t> from = counting(shapeOf(operand)), to = counting(type.getShape());
    if (from.size() != to.size() || llvm::any_of(llvm::zip_equal(from, to), [&](auto pair) {
          return shapeOf(operand)[std::get<0>(pair)] != type.getDimSize(std::get<1>(pair));
        }))
      return value;
    operand = narrow(builder, location, operand);
    for (auto [a, b] : llvm::zip_equal(from, to))
      ones[b] = shapeOf(operand)[a];
    return builder.createOrFold<ReshapeOp>(location, type.clone(ones), operand);
  }
  if (!op || !op->hasTrait<ElementwiseOp>() || op->getNumResults() != 1 || op->getNumOperands() == 0)
    return value;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(narrow(builder, location, operand));
  SmallVector<int64_t> shape = unite(operands);
  if (ArrayRef(shape) == type.getShape())
    return value;
  for (Value &operand : operands)
    operand = widen(builder, location, operand, shape);
  OperationState state(location, op->getName(), operands, type.clone(shape), op->getAttrs());
  return builder.create(state)->getResult(0);
}

/// The elements under another shape, without reshapes that cancel.
Value reshapeTo(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> shape) {
  for (; shapeOf(value) != shape; value = value.getDefiningOp()->getOperand(0))
    if (auto reshape = value.getDefiningOp<ReshapeOp>(); !reshape || reshape.getShape())
      return ReshapeOp::create(builder, location, typeOf(value).clone(shape), value);
  return value;
}

/// A value of the scores' shape on the way, as (B or 1) x (H or 1) x (T or 1) x (S or 1).
Value narrowToHeads(OpBuilder &builder, Location location, Value value, ArrayRef<int64_t> shape) {
  Value small = narrow(builder, location, value);
  ArrayRef<int64_t> sizes = shapeOf(small);
  if (sizes.size() == 4 && shapeOf(value) == shape)
    return small;
  SmallVector<int64_t> heads{1, 1, sizes[sizes.size() - 2], sizes.back()};
  // Not the same in all batches and heads: they are told apart.
  if (llvm::any_of(sizes.drop_back(2), [](int64_t size) { return size != 1; })) {
    if (sizes.drop_back(2) != shapeOf(value).drop_back(2))
      small = widen(builder, location, small,
                    llvm::to_vector(llvm::concat<const int64_t>(shapeOf(value).drop_back(2), sizes.take_back(2))));
    heads[0] = shape[0];
    heads[1] = shape[1];
  }
  return narrow(builder, location, reshapeTo(builder, location, small, heads));
}

Value numberLike(OpBuilder &builder, Location location, Type element, ArrayRef<int64_t> shape,
                 double number) {
  auto type = RankedTensorType::get(shape, element);
  return ConstantOp::create(builder, location, type,
                            SplatElementsAttr::get(type, builder.getFloatAttr(element, number)));
}

//===----------------------------------------------------------------------===//
// Causal masks
//===----------------------------------------------------------------------===//

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

/// The operand of broadcasts and of reshapes that only change dimensions of size 1 in front.
Value stripLeading(Value value) {
  for (;;) {
    Value next = stripBroadcast(value);
    if (auto reshape = next.getDefiningOp<ReshapeOp>(); reshape && !reshape.getShape()) {
      auto dropOnes = [](ArrayRef<int64_t> shape) {
        return shape.drop_while([](int64_t size) { return size == 1; });
      };
      if (dropOnes(shapeOf(next)) == dropOnes(shapeOf(reshape.getOperand())))
        next = reshape.getOperand();
    }
    if (next == value)
      return value;
    value = next;
  }
}

/// A constant whose element (.., t, s) is `isSeen` exactly for s <= t + S - T.
bool isCausalConstant(Value value, ArrayRef<int64_t> scores, llvm::function_ref<bool(Attribute)> isSeen) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValueAttr()) : nullptr;
  if (!elements || elements.isSplat())
    return false;
  int64_t T = scores[scores.size() - 2], S = scores.back(), index = 0;
  return llvm::all_of(elements.getValues<Attribute>(), [&](Attribute element) {
    int64_t t = index / S % T, s = index % S;
    ++index;
    return isSeen(element) == (s <= t + S - T);
  });
}

/// True where the condition holds exactly for s <= t + S - T; T and S are the last two sizes of `scores`.
bool isCausal(Value condition, ArrayRef<int64_t> scores, bool isInverted) {
  condition = stripLeading(condition);
  if (auto negation = condition.getDefiningOp<NotOp>())
    return isCausal(negation.getOperand(), scores, !isInverted);
  ArrayRef<int64_t> shape = shapeOf(condition);
  if (shape.size() < 2 || shape.take_back(2) != scores.take_back(2))
    return false;
  if (isCausalConstant(condition, scores, [&](Attribute element) {
        return cast<IntegerAttr>(element).getValue().isZero() == isInverted;
      }))
    return true;
  auto comparison = condition.getDefiningOp<CompareOp>();
  if (!comparison)
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

/// What an added mask that is 0 where a position is seen adds to those that a causal mask hides; none if it
/// is another mask.
std::optional<double> causalNumbers(const MaskLayer &layer) {
  Value mask = stripLeading(layer.added);
  ArrayRef<int64_t> scores = layer.type.getShape();
  double hidden = 0;
  if (auto select = mask.getDefiningOp<SelectOp>()) {
    std::optional<double> onTrue = splatNumber(select.getOnTrue()),
                          onFalse = splatNumber(select.getOnFalse());
    if (!onTrue || !onFalse || (*onTrue != 0) == (*onFalse != 0))
      return std::nullopt;
    hidden = (*onTrue + *onFalse) * layer.factor;
    if (isCausal(select.getCondition(), scores, /*isInverted=*/*onTrue != 0))
      return hidden;
    return std::nullopt;
  }
  if (mask.getDefiningOp<ConstantOp>() && shapeOf(mask).size() >= 2 &&
      shapeOf(mask).take_back(2) == scores.take_back(2)) {
    bool isFirst = true, isSame = true;
    bool causal = isCausalConstant(mask, scores, [&](Attribute element) {
      double number = cast<FloatAttr>(element).getValueAsDouble() * layer.factor;
      if (number == 0)
        return true;
      isSame &= isFirst || number == hidden;
      hidden = number;
      isFirst = false;
      return false;
    });
    if (causal && isSame)
      return hidden;
  }
  return std::nullopt;
}

/// What the layer puts in place of or adds to exactly the positions that a causal mask hides; none if it is
/// another mask.
std::optional<double> matchCausal(const MaskLayer &layer) {
  if (layer.added) {
    std::optional<double> hidden = causalNumbers(layer);
    return hidden && hides(*hidden) ? hidden : std::nullopt;
  }
  return isCausal(layer.condition, layer.type.getShape(), !layer.isSeenWhere) ? std::optional(layer.hidden)
                                                                               : std::nullopt;
}

bool isMinusInfinity(double number, Type element) {
  return number < -APFloat::getLargest(cast<FloatType>(element).getFloatSemantics()).convertToDouble();
}

/// Whether no element is -inf or NaN, and so no score that it is added to becomes so.
bool isFinite(Value value) {
  if (isa<IntegerType>(typeOf(value).getElementType()))
    return true;
  if (std::optional<double> number = splatNumber(value))
    return std::isfinite(*number);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
    return isFinite(op->getOperand(0));
  if (auto select = dyn_cast_or_null<SelectOp>(op))
    return isFinite(select.getOnTrue()) && isFinite(select.getOnFalse());
  auto isSmall = [](Value factor) {
    auto cast = factor.getDefiningOp<CastOp>();
    return cast && cast.getOperand().getType().getElementType().isInteger(1);
  };
  if (auto product = dyn_cast_or_null<MulOp>(op))
    return (isSmall(product.getLhs()) && isFinite(product.getRhs())) ||
           (isSmall(product.getRhs()) && isFinite(product.getLhs()));
  if (auto product = dyn_cast_or_null<CastOp>(op))
    return product.getOperand().getType().getElementType().isInteger(1);
  return false;
}

/// Adds or selects the layers of `shape`, the innermost first.
Value compose(OpBuilder &builder, Location location, ArrayRef<MaskLayer> layers, ArrayRef<int64_t> shape) {
  Value mask;
  for (const MaskLayer &layer : llvm::reverse(layers)) {
    Type element = layer.type.getElementType();
    auto number = [&](ArrayRef<int64_t> sizes, double value) {
      return numberLike(builder, location, element, sizes, value);
    };
    if (layer.added) {
      Value added = narrowToHeads(builder, location, layer.added, shape);
      if (layer.factor != 1)
        added = MulOp::create(builder, location, added, number(shapeOf(added), layer.factor));
      if (mask) {
        SmallVector<int64_t> sizes = unite({mask, added});
        added = AddOp::create(builder, location, widen(builder, location, mask, sizes),
                              widen(builder, location, added, sizes));
      }
      mask = added;
      continue;
    }
    Value condition = narrowToHeads(builder, location, layer.condition, shape);
    SmallVector<int64_t> sizes = mask ? unite({mask, condition}) : SmallVector<int64_t>(shapeOf(condition));
    condition = widen(builder, location, condition, sizes);
    Value seen = mask ? widen(builder, location, mask, sizes) : number(sizes, 0);
    Value hidden = number(sizes, layer.hidden);
    mask = SelectOp::create(builder, location, seen.getType(), condition, layer.isSeenWhere ? seen : hidden,
                            layer.isSeenWhere ? hidden : seen);
  }
  return mask;
}

} // namespace

std::optional<AttentionScores> zero::matchScores(SoftmaxOp softmax) {
  AttentionScores found;
  if (!match(softmax.getOperand(), softmax, found))
    return std::nullopt;
  return found;
}

std::optional<AttentionMask> zero::buildMask(PatternRewriter &rewriter, Location location,
                                             ArrayRef<MaskLayer> given, ArrayRef<int64_t> shape,
                                             bool isGuarded) {
  // A number added to all scores of a row changes no probability.
  SmallVector<MaskLayer> layers = llvm::to_vector(llvm::make_filter_range(given, [](const MaskLayer &layer) {
    std::optional<double> number = layer.added ? splatNumber(layer.added) : std::nullopt;
    return !number || !std::isfinite(*number * layer.factor);
  }));
  AttentionMask result;
  if (layers.empty())
    return result;
  Type element = layers.front().type.getElementType();
  bool selectsFinite = false, adds = false;
  const MaskLayer *causal = nullptr;
  double causalNumber = 0;
  for (const MaskLayer &layer : layers) {
    if (std::optional<double> number = matchCausal(layer)) {
      causal = &layer;
      causalNumber = *number;
    }
    adds |= static_cast<bool>(layer.added);
    selectsFinite |= !layer.added && !isMinusInfinity(layer.hidden, element);
  }
  bool everyRowIsSeen = shape[3] >= shape[2];
  // Alone, a causal mask leaves every row an entry. Beside others only -inf hides for good: under a lower
  // mask, what a finite number hides would show again.
  if (causal && layers.size() == 1 && (everyRowIsSeen || (!isGuarded && isMinusInfinity(causalNumber, element)))) {
    result.isCausal = true;
    return result;
  }
  SmallVector<MaskLayer> rest(layers);
  if (causal && !isGuarded && isMinusInfinity(causalNumber, element)) {
    result.isCausal = true;
    rest.erase(rest.begin() + (causal - layers.begin()));
    selectsFinite = llvm::any_of(rest, [&](const MaskLayer &layer) {
      return !layer.added && !isMinusInfinity(layer.hidden, element);
    });
    adds = llvm::any_of(rest, [](const MaskLayer &layer) { return static_cast<bool>(layer.added); });
  }
  // Where finite numbers are selected, rows without an entry are exact only if nothing else shifts them.
  if (selectsFinite && (adds || result.isCausal))
    return std::nullopt;

  Value mask = compose(rewriter, location, rest, shape);
  auto rowsWhere = [&](ComparePredicate predicate, double number) {
    RankedTensorType type = typeOf(mask);
    Value best = ReduceOp::create(rewriter, location, type.clone(type.getShape().drop_back()),
                                  ReduceKind::max, mask, ArrayRef<int64_t>{3});
    return CompareOp::create(rewriter, location, type.clone(type.getShape().drop_back()).clone(rewriter.getI1Type()),
                             predicate, best, numberLike(rewriter, location, element, shapeOf(best), number))
        .getResult();
  };
  if (selectsFinite) {
    result.hasEntry = rowsWhere(ComparePredicate::eq, 0);
    result.dropsScores = true;
  } else if (isGuarded && !isFinite(mask)) {
    result.hasEntry = rowsWhere(ComparePredicate::gt, -kInfinity);
    Value condition = rewriter.createOrFold<ReshapeOp>(
        location,
        typeOf(result.hasEntry).clone({shapeOf(mask)[0], shapeOf(mask)[1], shapeOf(mask)[2], 1}),
        result.hasEntry);
    mask = SelectOp::create(rewriter, location, mask.getType(), widen(rewriter, location, condition, shapeOf(mask)),
                            mask, numberLike(rewriter, location, element, shapeOf(mask), 0));
  }
  SmallVector<int64_t> full{shapeOf(mask)[0], shapeOf(mask)[1], shape[2], shape[3]};
  result.mask = widen(rewriter, location, mask, full);
  return result;
}
