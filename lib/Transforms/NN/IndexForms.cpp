//===- IndexForms.cpp - Tensors whose elements are affine in their index --===//
#include "IndexForms.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

using Maybe = std::optional<IndexForm>;

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }
Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The integers that the element type holds exactly and without wrapping.
std::optional<std::pair<int64_t, int64_t>> exactIntegers(Type element) {
  if (auto type = dyn_cast<FloatType>(element)) {
    int64_t limit = int64_t(1) << std::min(type.getFPMantissaWidth(), 62u);
    return std::pair(-limit, limit);
  }
  auto type = cast<IntegerType>(element);
  if (type.getWidth() == 1)
    return std::pair<int64_t, int64_t>(0, 1);
  if (type.isUnsigned())
    return std::pair<int64_t, int64_t>(0, std::min<uint64_t>(llvm::maxUIntN(type.getWidth()), INT64_MAX));
  return std::pair(llvm::minIntN(type.getWidth()), llvm::maxIntN(type.getWidth()));
}

/// Arithmetic that notices overflow: afterwards `ok` is false.
struct Checked {
  bool ok = true;
  int64_t add(int64_t a, int64_t b) { return ok &= !llvm::AddOverflow(a, b, a), a; }
  int64_t sub(int64_t a, int64_t b) { return ok &= !llvm::SubOverflow(a, b, a), a; }
  int64_t mul(int64_t a, int64_t b) { return ok &= !llvm::MulOverflow(a, b, a), a; }
};

Maybe splat(int64_t constant, size_t rank) { return IndexForm{constant, SmallVector<int64_t>(rank, 0)}; }

/// a + factor * b
Maybe combine(const IndexForm &a, const IndexForm &b, int64_t factor) {
  Checked checked;
  IndexForm sum = a;
  sum.constant = checked.add(a.constant, checked.mul(factor, b.constant));
  for (auto [into, coefficient] : llvm::zip_equal(sum.coefficients, b.coefficients))
    into = checked.add(into, checked.mul(factor, coefficient));
  return checked.ok ? Maybe(sum) : std::nullopt;
}

Maybe scale(const IndexForm &form, int64_t factor) {
  return combine(*splat(0, form.coefficients.size()), form, factor);
}

/// Recognises the elements of a constant.
Maybe ofConstant(ConstantOp op) {
  constexpr int64_t kMaxElements = 1 << 20;
  auto value = dyn_cast<DenseElementsAttr>(op.getValueAttr());
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (!value || (!value.isSplat() && value.getNumElements() > kMaxElements))
    return std::nullopt;
  auto integer = [](Attribute attribute) -> std::optional<int64_t> {
    if (auto number = dyn_cast<IntegerAttr>(attribute)) {
      bool hasNoSign = number.getType().isUnsignedInteger() || number.getType().isInteger(1);
      if (!hasNoSign)
        return number.getValue().getSExtValue();
      if (number.getValue().getActiveBits() > 63)
        return std::nullopt;
      return static_cast<int64_t>(number.getValue().getZExtValue());
    }
    double number = cast<FloatAttr>(attribute).getValueAsDouble();
    if (!(std::abs(number) <= 9007199254740992.0) || number != std::floor(number) ||
        (number == 0 && std::signbit(number)))
      return std::nullopt;
    return static_cast<int64_t>(number);
  };
  auto elements = value.getValues<Attribute>();
  std::optional<int64_t> first = integer(*elements.begin());
  if (!first)
    return std::nullopt;
  if (value.isSplat())
    return splat(*first, shape.size());
  if (op.getType().getElementType().isInteger(1))
    return std::nullopt;
  IndexForm form = *splat(*first, shape.size());
  Checked checked;
  int64_t step = 1;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; step *= shape[dim--]) {
    if (shape[dim] == 1)
      continue;
    std::optional<int64_t> next = integer(elements[step]);
    if (!next)
      return std::nullopt;
    form.coefficients[dim] = checked.sub(*next, *first);
  }
  for (auto [flat, attribute] : llvm::enumerate(elements)) {
    int64_t rest = static_cast<int64_t>(flat), expected = form.constant;
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; rest /= shape[dim--])
      expected = checked.add(expected, checked.mul(form.coefficients[dim], rest % shape[dim]));
    if (!checked.ok || integer(attribute) != expected)
      return std::nullopt;
  }
  return form;
}

/// Dimensions fall into groups with equal products. In each the operand must depend on nothing, or on the
/// row-major index.
Maybe reshape(const IndexForm &form, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  IndexForm result = *splat(form.constant, to.size());
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t firstFrom = i, firstTo = j;
    int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right && i < from.size())
        left *= from[i++];
      else if (right < left && j < to.size())
        right *= to[j++];
      else
        return std::nullopt;
    }
    int64_t step = 1;
    std::optional<int64_t> factor; // per element of the row-major index
    for (size_t dim = i; dim-- > firstFrom; step *= from[dim]) {
      if (from[dim] == 1)
        continue;
      if (form.coefficients[dim] % step != 0 || (factor && *factor != form.coefficients[dim] / step))
        return std::nullopt;
      factor = form.coefficients[dim] / step;
    }
    step = 1;
    for (size_t dim = j; dim-- > firstTo; step *= to[dim])
      result.coefficients[dim] = to[dim] == 1 ? 0 : factor.value_or(0) * step;
  }
  return result;
}

/// Pieces that continue each other: the element depends on the place in the whole, not on the piece.
Maybe concat(ConcatOp op, ArrayRef<Maybe> parts) {
  int64_t axis = op.getAxis(), offset = 0;
  Maybe whole;
  Checked checked;
  // A piece of size 1 says nothing about the step along the axis: take it from a longer one, or from two in a
  // row.
  std::optional<int64_t> step;
  for (auto [operand, part] : llvm::zip_equal(op.getOperands(), parts)) {
    if (!part)
      return std::nullopt;
    if (shapeOf(operand)[axis] > 1)
      step = part->coefficients[axis];
  }
  if (!step && parts.size() > 1)
    step = checked.sub(parts[1]->constant, parts[0]->constant);
  for (auto [operand, part] : llvm::zip_equal(op.getOperands(), parts)) {
    int64_t size = shapeOf(operand)[axis];
    if (size == 0)
      continue;
    IndexForm moved = *part;
    if (size > 1 && moved.coefficients[axis] != *step)
      return std::nullopt;
    moved.coefficients[axis] = step.value_or(0);
    moved.constant = checked.sub(moved.constant, checked.mul(moved.coefficients[axis], offset));
    if (!checked.ok || (whole && *whole != moved))
      return std::nullopt;
    whole = moved;
    offset += size;
  }
  return whole;
}

/// The sum of every element up to this one, of equal elements.
Maybe cumsum(CumSumOp op, const IndexForm &operand) {
  if (!operand.isSplat())
    return std::nullopt;
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t axis = op.getAxis(), size = shape[axis];
  Checked checked;
  IndexForm form = *splat(0, shape.size());
  int64_t step = op.getReverse() ? checked.mul(operand.constant, -1) : operand.constant;
  int64_t terms = (op.getReverse() ? size : 1) - (op.getExclusive() ? 1 : 0); // at index 0
  form.constant = checked.mul(operand.constant, terms);
  form.coefficients[axis] = size == 1 ? 0 : step;
  return checked.ok ? Maybe(form) : std::nullopt;
}

Maybe reduce(ReduceOp op, const IndexForm &operand) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  Checked checked;
  IndexForm form;
  form.constant = operand.constant;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t coefficient = operand.coefficients[dim];
    if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(dim))) {
      form.coefficients.push_back(coefficient);
      continue;
    }
    switch (op.getKind()) {
    case ReduceKind::max:
    case ReduceKind::min:
      if ((op.getKind() == ReduceKind::max) == (coefficient > 0))
        form.constant = checked.add(form.constant, checked.mul(coefficient, size - 1));
      break;
    case ReduceKind::sum:
      if (!operand.isSplat())
        return std::nullopt;
      form.constant = checked.mul(form.constant, size);
      break;
    case ReduceKind::prod:
      return std::nullopt;
    }
  }
  return checked.ok ? Maybe(form) : std::nullopt;
}

/// Whether the predicate holds for a difference of lhs and rhs.
bool holds(ComparePredicate predicate, int64_t difference) {
  switch (predicate) {
  case ComparePredicate::eq:
    return difference == 0;
  case ComparePredicate::ne:
    return difference != 0;
  case ComparePredicate::lt:
    return difference < 0;
  case ComparePredicate::le:
    return difference <= 0;
  case ComparePredicate::gt:
    return difference > 0;
  case ComparePredicate::ge:
    return difference >= 0;
  }
  llvm_unreachable("unknown predicate");
}

/// A comparison that comes out the same everywhere.
Maybe compare(CompareOp op, const IndexForm &lhs, const IndexForm &rhs) {
  Maybe difference = combine(lhs, rhs, -1);
  ArrayRef<int64_t> shape = op.getType().getShape();
  auto range = difference ? difference->range(shape) : std::nullopt;
  if (!range)
    return std::nullopt;
  ComparePredicate predicate = op.getPredicate();
  bool low = holds(predicate, range->first), high = holds(predicate, range->second);
  // Ordered comparisons are monotonic; equality with a number inside the range is not.
  bool isEquality = predicate == ComparePredicate::eq || predicate == ComparePredicate::ne;
  if (low != high || (isEquality && range->first != range->second && range->first <= 0 && range->second >= 0))
    return std::nullopt;
  return splat(low, shape.size());
}

/// The data's form at the place that forms of the index say, where they are all inside the data.
Maybe compose(const IndexForm &data, ArrayRef<int64_t> dataShape,
              ArrayRef<std::pair<int64_t, IndexForm>> indices, ArrayRef<int64_t> indexShape,
              IndexForm result) {
  result.constant = data.constant;
  for (auto &[dim, index] : indices) {
    auto range = index.range(indexShape);
    if (!range || range->first < 0 || range->second >= dataShape[dim])
      return std::nullopt;
    Maybe sum = combine(result, index, data.coefficients[dim]);
    if (!sum)
      return std::nullopt;
    result = *sum;
  }
  return result;
}

} // namespace

SmallVector<int64_t> IndexForm::varyingDims() const {
  SmallVector<int64_t> dims;
  for (auto [dim, coefficient] : llvm::enumerate(coefficients))
    if (coefficient != 0)
      dims.push_back(static_cast<int64_t>(dim));
  return dims;
}

std::optional<std::pair<int64_t, int64_t>> IndexForm::range(ArrayRef<int64_t> shape) const {
  Checked checked;
  int64_t low = constant, high = constant;
  for (auto [size, coefficient] : llvm::zip_equal(shape, coefficients)) {
    int64_t reach = checked.mul(coefficient, std::max<int64_t>(size, 1) - 1);
    (reach > 0 ? high : low) = checked.add(reach > 0 ? high : low, reach);
  }
  if (!checked.ok)
    return std::nullopt;
  return std::pair(low, high);
}

const Maybe &IndexForms::of(Value value) {
  auto [entry, isNew] = forms.try_emplace(value);
  if (!isNew)
    return entry->second;
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Maybe form;
  if (op && op->getNumResults() == 1 && type && type.hasStaticShape() && type.getNumElements() > 0 &&
      llvm::none_of(op->getOperandTypes(), [](Type operand) {
        auto tensor = dyn_cast<RankedTensorType>(operand);
        return !tensor || !tensor.hasStaticShape() || tensor.getNumElements() == 0;
      }))
    form = compute(op);
  if (form) {
    auto range = form->range(type.getShape());
    auto exact = exactIntegers(type.getElementType());
    if (!range || range->first < exact->first || range->second > exact->second)
      form = std::nullopt;
    else
      for (auto [size, coefficient] : llvm::zip_equal(type.getShape(), form->coefficients))
        if (size == 1)
          coefficient = 0;
  }
  return forms[value] = form;
}

std::optional<IndexForm> IndexForms::component(Value tuples, int64_t index) {
  if (Maybe form = of(tuples)) {
    form->constant += form->coefficients.back() * index;
    form->coefficients.pop_back();
    return form;
  }
  auto concat = tuples.getDefiningOp<ConcatOp>();
  if (!concat || static_cast<int64_t>(concat.getAxis()) != concat.getType().getRank() - 1)
    return std::nullopt;
  for (Value operand : concat.getOperands()) {
    int64_t size = shapeOf(operand).back();
    if (index < size)
      return component(operand, index);
    index -= size;
  }
  return std::nullopt;
}

std::optional<IndexForm> IndexForms::compute(Operation *op) {
  auto operand = [&](unsigned index) -> Maybe { return of(op->getOperand(index)); };
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  size_t rank = shape.size();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return ofConstant(constant);
  if (auto iota = dyn_cast<IotaOp>(op)) {
    IndexForm form = *splat(0, rank);
    form.coefficients[iota.getAxis()] = 1;
    return form;
  }
  if (isa<AddOp, SubOp>(op)) {
    Maybe lhs = operand(0), rhs = operand(1);
    return lhs && rhs ? combine(*lhs, *rhs, isa<AddOp>(op) ? 1 : -1) : std::nullopt;
  }
  if (isa<MulOp>(op)) {
    Maybe lhs = operand(0), rhs = operand(1);
    if (!lhs || !rhs || !(lhs->isSplat() || rhs->isSplat()))
      return std::nullopt;
    return lhs->isSplat() ? scale(*rhs, lhs->constant) : scale(*lhs, rhs->constant);
  }
  if (isa<DivOp, RemOp>(op)) {
    // Of integers, and of elements below the divisor: the quotient is 0, the remainder the element.
    Maybe lhs = operand(0), rhs = operand(1);
    auto range = lhs ? lhs->range(shape) : std::nullopt;
    if (!range || !rhs || !rhs->isSplat() || !isa<IntegerType>(elementOf(op->getResult(0))) ||
        range->first < 0 || range->second >= rhs->constant)
      return std::nullopt;
    return isa<DivOp>(op) ? splat(0, rank) : lhs;
  }
  if (isa<NegOp>(op)) {
    Maybe form = operand(0);
    // The negative of a float 0 is -0, which is no integer's float.
    return form && isa<IntegerType>(elementOf(op->getResult(0))) ? scale(*form, -1) : std::nullopt;
  }
  if (isa<MaxOp, MinOp>(op)) {
    Maybe lhs = operand(0), rhs = operand(1);
    Maybe difference = lhs && rhs ? combine(*lhs, *rhs, -1) : std::nullopt;
    auto range = difference ? difference->range(shape) : std::nullopt;
    if (!range || (range->first < 0 && range->second > 0))
      return std::nullopt;
    return (range->first >= 0) == isa<MaxOp>(op) ? lhs : rhs;
  }
  if (auto cast = dyn_cast<CastOp>(op)) {
    Maybe form = operand(0);
    if (form && elementOf(cast.getResult()).isInteger(1))
      return form->isSplat() ? splat(form->constant != 0, rank) : std::nullopt;
    return form;
  }
  if (auto comparison = dyn_cast<CompareOp>(op)) {
    Maybe lhs = operand(0), rhs = operand(1);
    return lhs && rhs ? compare(comparison, *lhs, *rhs) : std::nullopt;
  }
  if (isa<AndOp, OrOp, XorOp, NotOp>(op)) {
    if (!elementOf(op->getResult(0)).isInteger(1))
      return std::nullopt;
    Maybe lhs = operand(0), rhs = isa<NotOp>(op) ? splat(1, rank) : operand(1);
    // One side may decide alone.
    for (const Maybe &side : {lhs, rhs})
      if (side && side->isSplat() && !isa<XorOp, NotOp>(op) && side->constant == (isa<OrOp>(op) ? 1 : 0))
        return side;
    if (!lhs || !rhs || !lhs->isSplat() || !rhs->isSplat())
      return std::nullopt;
    bool a = lhs->constant, b = rhs->constant;
    return splat(isa<AndOp>(op) ? a && b : isa<OrOp>(op) ? a || b : a != b, rank);
  }
  if (isa<SelectOp>(op)) {
    Maybe condition = operand(0), onTrue = operand(1), onFalse = operand(2);
    if (onTrue && onFalse && *onTrue == *onFalse)
      return onTrue;
    if (!condition || !condition->isSplat())
      return std::nullopt;
    return condition->constant ? onTrue : onFalse;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Maybe form = operand(0);
    if (!form)
      return std::nullopt;
    IndexForm result = *splat(form->constant, rank);
    for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
      result.coefficients[to] = form->coefficients[from];
    return result;
  }
  if (isa<ReshapeOp>(op)) {
    Maybe form = operand(0);
    return form ? ::reshape(*form, shapeOf(op->getOperand(0)), shape) : std::nullopt;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Maybe form = operand(0);
    if (!form)
      return std::nullopt;
    IndexForm result = *splat(form->constant, rank);
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
      result.coefficients[to] = form->coefficients[from];
    return result;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Maybe form = operand(0);
    if (!form)
      return std::nullopt;
    for (auto [dim, coefficient] : llvm::enumerate(form->coefficients)) {
      form->constant += coefficient * slice.getStarts()[dim];
      coefficient *= slice.getStrides()[dim];
    }
    return form;
  }
  if (auto join = dyn_cast<ConcatOp>(op)) {
    SmallVector<Maybe> parts;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      parts.push_back(operand(i));
    return ::concat(join, parts);
  }
  if (auto sum = dyn_cast<CumSumOp>(op)) {
    Maybe form = operand(0);
    return form ? cumsum(sum, *form) : std::nullopt;
  }
  if (auto reduction = dyn_cast<ReduceOp>(op)) {
    Maybe form = operand(0);
    return form ? ::reduce(reduction, *form) : std::nullopt;
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Maybe data = operand(0), index = operand(1);
    if (!data || !index)
      return std::nullopt;
    int64_t axis = gather.getAxis(), indexRank = static_cast<int64_t>(index->coefficients.size());
    IndexForm rest = *splat(0, rank), place = *splat(index->constant, rank);
    for (int64_t dim = 0; dim < static_cast<int64_t>(data->coefficients.size()); ++dim)
      if (dim != axis)
        rest.coefficients[dim < axis ? dim : dim - 1 + indexRank] = data->coefficients[dim];
    for (int64_t dim = 0; dim < indexRank; ++dim)
      place.coefficients[axis + dim] = index->coefficients[dim];
    return compose(*data, shapeOf(gather.getData()), {{axis, place}}, shape, rest);
  }
  if (auto gather = dyn_cast<GatherNDOp>(op)) {
    Maybe data = operand(0);
    if (!data || gather.getBatchDims() != 0)
      return std::nullopt;
    ArrayRef<int64_t> indices = shapeOf(gather.getIndices());
    int64_t tuple = indices.back(), outer = static_cast<int64_t>(indices.size()) - 1;
    IndexForm rest = *splat(0, rank);
    for (int64_t dim = tuple; dim < static_cast<int64_t>(data->coefficients.size()); ++dim)
      rest.coefficients[outer + dim - tuple] = data->coefficients[dim];
    SmallVector<std::pair<int64_t, IndexForm>> places;
    for (int64_t k = 0; k < tuple; ++k) {
      Maybe place = component(gather.getIndices(), k);
      if (!place)
        return std::nullopt;
      place->coefficients.resize(rank, 0);
      places.emplace_back(k, *place);
    }
    return compose(*data, shapeOf(gather.getData()), places, shape, rest);
  }
  return std::nullopt;
}

Value IndexForms::build(OpBuilder &builder, Location location, const IndexForm &form, RankedTensorType type) {
  auto number = [&](int64_t value) -> Value {
    Type element = type.getElementType();
    TypedAttr attribute;
    if (isa<FloatType>(element))
      attribute = builder.getFloatAttr(element, static_cast<double>(value));
    else
      attribute = builder.getIntegerAttr(element, value);
    return ConstantOp::create(builder, location, type, DenseElementsAttr::get(type, attribute));
  };
  Value sum;
  for (int64_t dim : form.varyingDims()) {
    Value term = IotaOp::create(builder, location, type, dim);
    if (form.coefficients[dim] != 1)
      term = MulOp::create(builder, location, type, term, number(form.coefficients[dim]));
    sum = sum ? AddOp::create(builder, location, type, sum, term).getResult() : term;
  }
  if (!sum)
    return number(form.constant);
  if (form.constant != 0)
    sum = AddOp::create(builder, location, type, sum, number(form.constant));
  return sum;
}
