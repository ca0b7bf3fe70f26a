//===- Lanes.cpp - Arithmetic on one element or on a vector of elements ---===//
#include "Lanes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace zero {

Type getElementType(Value value) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return vector.getElementType();
  return value.getType();
}

Type Lanes::registerOf(Type element) const {
  if (auto integer = dyn_cast<IntegerType>(element))
    return builder.getIntegerType(integer.getWidth());
  return element.isF16() || element.isBF16() ? f32() : element;
}

Type Lanes::typeOf(Type element) const {
  element = registerOf(element);
  return width == 1 ? element : Type(VectorType::get({width}, element));
}

Value Lanes::splat(Attribute value, Type element) const {
  Type type = typeOf(element);
  if (auto integer = dyn_cast<IntegerAttr>(value))
    value = IntegerAttr::get(builder.getIntegerType(integer.getType().getIntOrFloatBitWidth()),
                             integer.getValue());
  if (auto number = dyn_cast<FloatAttr>(value); number && (element.isF16() || element.isBF16())) {
    APFloat wide = number.getValue();
    bool losesInfo;
    wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
    value = FloatAttr::get(f32(), wide);
  }
  if (auto vector = dyn_cast<VectorType>(type))
    value = SplatElementsAttr::get(vector, value);
  return arith::ConstantOp::create(builder, loc, type, cast<TypedAttr>(value));
}
Value Lanes::constant(Type element, double value) const {
  return splat(builder.getFloatAttr(element, value), element);
}
Value Lanes::integer(Type element, int64_t value) const {
  unsigned bits = element.getIntOrFloatBitWidth();
  return splat(IntegerAttr::get(builder.getIntegerType(bits), APInt(bits, value, true, true)), element);
}

Value Lanes::roundTo(Value value, Type element) const {
  if (element.isF16()) {
    Type half = width == 1 ? element : Type(VectorType::get({width}, element));
    Value narrow = arith::TruncFOp::create(builder, loc, half, value);
    return arith::ExtFOp::create(builder, loc, typeOf(f32()), narrow);
  }
  if (!element.isBF16())
    return value;
  // Half of the last place but one bit, and that bit where the last place is odd. In integers everywhere: the instruction of
  // AVX512_BF16 loses subnormal numbers, so a machine that has it would give other bits.
  Value bits = bitcast(value, i32());
  Value odd = both(shiftRight(bits, 16), integer(i32(), 1));
  Value rounded = add(add(bits, integer(i32(), 0x7fff)), odd);
  Value quiet = either(bits, integer(i32(), 0x400000));
  Value isNaN = compare(arith::CmpFPredicate::UNO, value, value);
  return bitcast(both(select(isNaN, quiet, rounded), integer(i32(), -0x10000)), f32());
}

Value Lanes::fromMemory(Value value, Type element) const {
  if (element.isInteger(1))
    return compare(arith::CmpIPredicate::ne, value, integer(getElementType(value), 0));
  if (element.isF16()) {
    Type half = width == 1 ? element : Type(VectorType::get({width}, element));
    Value narrow = arith::BitcastOp::create(builder, loc, half, value);
    return arith::ExtFOp::create(builder, loc, typeOf(f32()), narrow);
  }
  if (element.isBF16())
    return bitcast(shiftLeft(arith::ExtUIOp::create(builder, loc, typeOf(i32()), value), 16), f32());
  return value;
}

Value Lanes::toMemory(Value value, Type element) const {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, typeOf(builder.getI8Type()), value);
  if (element.isF16()) {
    Type half = width == 1 ? element : Type(VectorType::get({width}, element));
    return bitcast(arith::TruncFOp::create(builder, loc, half, value), i16());
  }
  if (element.isBF16())
    return arith::TruncIOp::create(builder, loc, typeOf(i16()), shiftRight(bitcast(value, i32()), 16));
  return value;
}

Value Lanes::broadcast(Value scalar) const {
  return width == 1 ? scalar
                    : Value(vector::BroadcastOp::create(builder, loc, typeOf(scalar.getType()), scalar));
}
Value Lanes::count(Value start, Type element) const {
  if (width == 1)
    return start;
  SmallVector<APInt> steps;
  for (int64_t i = 0; i < width; ++i)
    steps.push_back(APInt(element.getIntOrFloatBitWidth(), i));
  auto type = cast<VectorType>(typeOf(element));
  return add(broadcast(start),
             arith::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, steps)));
}

static bool isFloat(Value value) { return isa<FloatType>(getElementType(value)); }

Value Lanes::add(Value a, Value b) const {
  return isFloat(a) ? Value(arith::AddFOp::create(builder, loc, a, b))
                    : Value(arith::AddIOp::create(builder, loc, a, b));
}
Value Lanes::sub(Value a, Value b) const {
  return isFloat(a) ? Value(arith::SubFOp::create(builder, loc, a, b))
                    : Value(arith::SubIOp::create(builder, loc, a, b));
}
Value Lanes::mul(Value a, Value b) const {
  return isFloat(a) ? Value(arith::MulFOp::create(builder, loc, a, b))
                    : Value(arith::MulIOp::create(builder, loc, a, b));
}
Value Lanes::divFloat(Value a, Value b) const { return arith::DivFOp::create(builder, loc, a, b); }
Value Lanes::fma(Value a, Value b, Value c) const { return math::FmaOp::create(builder, loc, a, b, c); }
Value Lanes::negFloat(Value a) const { return arith::NegFOp::create(builder, loc, a); }
Value Lanes::absFloat(Value a) const { return math::AbsFOp::create(builder, loc, a); }
Value Lanes::sqrt(Value a) const { return math::SqrtOp::create(builder, loc, a); }
Value Lanes::floor(Value a) const { return math::FloorOp::create(builder, loc, a); }
Value Lanes::ceil(Value a) const { return math::CeilOp::create(builder, loc, a); }
Value Lanes::round(Value a) const { return math::RoundEvenOp::create(builder, loc, a); }
Value Lanes::trunc(Value a) const { return math::TruncOp::create(builder, loc, a); }
Value Lanes::copySign(Value magnitude, Value sign) const {
  return math::CopySignOp::create(builder, loc, magnitude, sign);
}
Value Lanes::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value Lanes::compare(arith::CmpFPredicate predicate, Value a, Value b) const {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value Lanes::compare(arith::CmpIPredicate predicate, Value a, Value b) const {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}
Value Lanes::both(Value a, Value b) const { return arith::AndIOp::create(builder, loc, a, b); }
Value Lanes::either(Value a, Value b) const { return arith::OrIOp::create(builder, loc, a, b); }
Value Lanes::bitcast(Value a, Type element) const {
  return arith::BitcastOp::create(builder, loc, typeOf(element), a);
}
Value Lanes::shiftLeft(Value a, int64_t bits) const {
  return arith::ShLIOp::create(builder, loc, a, integer(getElementType(a), bits));
}
Value Lanes::shiftRight(Value a, int64_t bits) const {
  return arith::ShRSIOp::create(builder, loc, a, integer(getElementType(a), bits));
}

Value Lanes::max(Value a, Value b, bool isUnsigned) const {
  if (isFloat(a)) {
    // b where b is larger or NaN or equal, a where a is NaN.
    Value larger = select(compare(arith::CmpFPredicate::OGT, a, b), a, b);
    return select(compare(arith::CmpFPredicate::UNO, a, a), a, larger);
  }
  return isUnsigned ? Value(arith::MaxUIOp::create(builder, loc, a, b))
                    : Value(arith::MaxSIOp::create(builder, loc, a, b));
}
Value Lanes::min(Value a, Value b, bool isUnsigned) const {
  if (isFloat(a)) {
    Value smaller = select(compare(arith::CmpFPredicate::OLT, a, b), a, b);
    return select(compare(arith::CmpFPredicate::UNO, a, a), a, smaller);
  }
  return isUnsigned ? Value(arith::MinUIOp::create(builder, loc, a, b))
                    : Value(arith::MinSIOp::create(builder, loc, a, b));
}

Value Lanes::polynomial(Value x, ArrayRef<double> coefficients) const {
  Type element = getElementType(x);
  Value sum = constant(element, coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, constant(element, coefficient));
  return sum;
}

} // namespace zero
