//===- FoldElementwise.cpp - Folders of elementwise ops -------------------===//
//
// A fold keeps every bit of what the op would compute: x * 0 stays (x may be NaN or negative), x + 0.0 stays
// (x may be -0.0) while x + -0.0 is x; arithmetic on float constants is correctly rounded, as the kernels'
// is; NaN is not made.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/Constants.h"
#include "dialects/NN/NNOps.h"

using namespace mlir;
using namespace zero::nn;

bool zero::nn::isUnsigned(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }

DenseElementsAttr zero::nn::asFoldable(Attribute attribute) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements || !(elements.isSplat() || elements.getNumElements() <= kLargestFoldedConstant) ||
      !isa<FloatType, IntegerType>(elements.getElementType()))
    return nullptr;
  return elements;
}

bool zero::nn::isSplatOf(Attribute attribute, double value) {
  DenseElementsAttr elements = asFoldable(attribute);
  if (!elements || !elements.isSplat())
    return false;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat expected(value);
    bool losesInfo;
    auto element = elements.getSplatValue<APFloat>();
    expected.convert(element.getSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return !losesInfo && element.bitwiseIsEqual(expected);
  }
  auto element = elements.getSplatValue<APInt>();
  return (isUnsigned(elements.getElementType()) ? static_cast<double>(element.getZExtValue())
                                                : static_cast<double>(element.getSExtValue())) == value;
}

DenseElementsAttr zero::nn::splatOf(Type type, int64_t value) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return nullptr;
  Type element = tensor.getElementType();
  if (auto floatType = dyn_cast<FloatType>(element))
    return DenseElementsAttr::get(tensor, FloatAttr::get(floatType, static_cast<double>(value)).getValue());
  return DenseElementsAttr::get(tensor, APInt(element.getIntOrFloatBitWidth(), value));
}

DenseElementsAttr zero::nn::resizeSplat(Attribute attribute, RankedTensorType type) {
  DenseElementsAttr elements = asFoldable(attribute);
  if (!elements || !elements.isSplat() || !type.hasStaticShape())
    return nullptr;
  return elements.resizeSplat(type);
}

namespace {
using FloatFunction = llvm::function_ref<APFloat(const APFloat &, const APFloat &)>;
using IntFunction = llvm::function_ref<std::optional<APInt>(const APInt &, const APInt &)>;
} // namespace

/// Applies the function of the element type to two constants; null where it may not be folded.
static DenseElementsAttr foldConstants(Attribute lhsAttribute, Attribute rhsAttribute, RankedTensorType type,
                                       FloatFunction onFloats, IntFunction onInts) {
  DenseElementsAttr lhs = asFoldable(lhsAttribute), rhs = asFoldable(rhsAttribute);
  if (!lhs || !rhs || !type.hasStaticShape())
    return nullptr;
  bool isSplat = lhs.isSplat() && rhs.isSplat();
  size_t count = isSplat ? std::min<int64_t>(type.getNumElements(), 1) : type.getNumElements();
  if (isa<FloatType>(type.getElementType())) {
    SmallVector<APFloat> values;
    auto a = lhs.value_begin<APFloat>(), b = rhs.value_begin<APFloat>();
    for (size_t i = 0; i < count; ++i, ++a, ++b) {
      values.push_back(onFloats(*a, *b));
      if (values.back().isNaN())
        return nullptr;
    }
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  auto a = lhs.value_begin<APInt>(), b = rhs.value_begin<APInt>();
  for (size_t i = 0; i < count; ++i, ++a, ++b) {
    std::optional<APInt> value = onInts(*a, *b);
    if (!value)
      return nullptr;
    values.push_back(*value);
  }
  return DenseElementsAttr::get(type, values);
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  bool isFloat = isa<FloatType>(getType().getElementType());
  if (isSplatOf(adaptor.getRhs(), isFloat ? -0.0 : 0.0))
    return getLhs();
  return foldConstants(
      adaptor.getLhs(), adaptor.getRhs(), getType(), [](const APFloat &a, const APFloat &b) { return a + b; },
      [](const APInt &a, const APInt &b) { return a + b; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0.0))
    return getLhs();
  if (getLhs() == getRhs() && isa<IntegerType>(getType().getElementType()))
    return splatOf(getType(), 0);
  return foldConstants(
      adaptor.getLhs(), adaptor.getRhs(), getType(), [](const APFloat &a, const APFloat &b) { return a - b; },
      [](const APInt &a, const APInt &b) { return a - b; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  if (isa<IntegerType>(getType().getElementType()) && isSplatOf(adaptor.getRhs(), 0.0))
    return splatOf(getType(), 0);
  return foldConstants(
      adaptor.getLhs(), adaptor.getRhs(), getType(), [](const APFloat &a, const APFloat &b) { return a * b; },
      [](const APInt &a, const APInt &b) { return a * b; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  bool hasNoSign = isUnsigned(getType().getElementType());
  return foldConstants(
      adaptor.getLhs(), adaptor.getRhs(), getType(), [](const APFloat &a, const APFloat &b) { return a / b; },
      [&](const APInt &a, const APInt &b) -> std::optional<APInt> {
        if (b.isZero())
          return std::nullopt;
        return hasNoSign ? a.udiv(b) : a.sdiv(b);
      });
}

OpFoldResult PowOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  return nullptr;
}

static bool hasOnlyOnes(Attribute attribute) {
  DenseElementsAttr elements = asFoldable(attribute);
  return elements && elements.isSplat() && elements.getSplatValue<APInt>().isAllOnes();
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || hasOnlyOnes(adaptor.getRhs()))
    return getLhs();
  if (isSplatOf(adaptor.getRhs(), 0.0))
    return splatOf(getType(), 0);
  return foldConstants(adaptor.getLhs(), adaptor.getRhs(), getType(), nullptr,
                       [](const APInt &a, const APInt &b) { return a & b; });
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isSplatOf(adaptor.getRhs(), 0.0))
    return getLhs();
  if (hasOnlyOnes(adaptor.getRhs()) && getType().hasStaticShape())
    return asFoldable(adaptor.getRhs());
  return foldConstants(adaptor.getLhs(), adaptor.getRhs(), getType(), nullptr,
                       [](const APInt &a, const APInt &b) { return a | b; });
}

OpFoldResult StopGradientOp::fold(FoldAdaptor adaptor) { return adaptor.getOperand(); } // of a constant, which has none

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  // True where the condition is true, and false elsewhere.
  auto isSplatOf = [](Attribute value, bool wanted) {
    auto splat = dyn_cast_or_null<SplatElementsAttr>(value);
    return splat && splat.getElementType().isInteger(1) && splat.getSplatValue<bool>() == wanted;
  };
  if (isSplatOf(adaptor.getOnTrue(), true) && isSplatOf(adaptor.getOnFalse(), false))
    return getCondition();
  DenseElementsAttr condition = asFoldable(adaptor.getCondition());
  if (!condition)
    return nullptr;
  if (condition.isSplat())
    return condition.getSplatValue<bool>() ? getOnTrue() : getOnFalse();
  DenseElementsAttr onTrue = asFoldable(adaptor.getOnTrue()), onFalse = asFoldable(adaptor.getOnFalse());
  if (!onTrue || !onFalse)
    return nullptr;
  SmallVector<Attribute> values;
  for (auto [chosen, a, b] : llvm::zip_equal(condition.getValues<bool>(), onTrue.getValues<Attribute>(),
                                             onFalse.getValues<Attribute>()))
    values.push_back(chosen ? a : b);
  return DenseElementsAttr::get(getType(), values);
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

/// True where every value of `from` is a value of `to`.
static bool isLossless(Type from, Type to) {
  if (from == to)
    return true;
  if (auto target = dyn_cast<FloatType>(to)) {
    if (auto source = dyn_cast<FloatType>(from))
      return target.getWidth() > source.getWidth(); // neither f16 nor bf16 holds the other
    unsigned bits = from.getIntOrFloatBitWidth() - (isUnsigned(from) ? 0 : 1);
    return bits <= target.getFPMantissaWidth();
  }
  if (isa<FloatType>(from) || to.isInteger(1))
    return false;
  if (isUnsigned(to))
    return isUnsigned(from) && from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  return from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
}

/// The element converted to `to`; null for a NaN, whose bits are not kept.
static Attribute castElement(Attribute element, Type from, Type to) {
  if (auto value = dyn_cast<FloatAttr>(element)) {
    APFloat number = value.getValue();
    if (to.isInteger(1))
      return IntegerAttr::get(to, number.isZero() ? 0 : 1);
    if (auto target = dyn_cast<FloatType>(to)) {
      bool losesInfo;
      number.convert(target.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
      return number.isNaN() ? Attribute() : FloatAttr::get(target, number);
    }
    APSInt integer(to.getIntOrFloatBitWidth(), isUnsigned(to));
    bool isExact;
    // What does not fit becomes the nearest number that does, NaN 0.
    number.convertToInteger(integer, APFloat::rmTowardZero, &isExact);
    return IntegerAttr::get(to, integer);
  }
  APInt number = cast<IntegerAttr>(element).getValue();
  if (to.isInteger(1))
    return IntegerAttr::get(to, number.isZero() ? 0 : 1);
  if (auto target = dyn_cast<FloatType>(to)) {
    APFloat result(target.getFloatSemantics());
    result.convertFromAPInt(number, !isUnsigned(from), APFloat::rmNearestTiesToEven);
    return FloatAttr::get(target, result);
  }
  unsigned width = to.getIntOrFloatBitWidth();
  return IntegerAttr::get(to, isUnsigned(from) ? number.zextOrTrunc(width) : number.sextOrTrunc(width));
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  Type from = getOperand().getType().getElementType(), to = getType().getElementType();
  if (auto inner = getOperand().getDefiningOp<CastOp>())
    if (inner.getOperand().getType() == getType() && isLossless(to, from))
      return inner.getOperand();
  DenseElementsAttr constant = asFoldable(adaptor.getOperand());
  if (!constant || !getType().hasStaticShape())
    return nullptr;
  SmallVector<Attribute> values;
  int64_t count =
      constant.isSplat() ? std::min<int64_t>(constant.getNumElements(), 1) : constant.getNumElements();
  auto element = constant.value_begin<Attribute>();
  for (int64_t i = 0; i < count; ++i, ++element) {
    values.push_back(castElement(*element, from, to));
    if (!values.back())
      return nullptr;
  }
  return DenseElementsAttr::get(getType(), values);
}
