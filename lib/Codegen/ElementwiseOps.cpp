//===- ElementwiseOps.cpp - nn's elementwise ops on registers -------------===//
#include "Lanes.h"
#include <limits>

using namespace mlir;

namespace zero {

using Float = arith::CmpFPredicate;
using Int = arith::CmpIPredicate;

static bool isUnsignedElement(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }

/// x / y or x % y of integers, towards zero; division by 0 gives 0, the quotient of the smallest by -1 wraps.
static Value emitDivision(Lanes l, Value x, Value y, bool isUnsigned, bool remainder) {
  Type element = getElementType(x);
  Value zero = l.integer(element, 0), one = l.integer(element, 1);
  Value isZero = l.compare(Int::eq, y, zero), special = isZero, isMinusOne;
  if (!isUnsigned) {
    isMinusOne = l.compare(Int::eq, y, l.integer(element, -1));
    special = l.either(isZero, isMinusOne);
  }
  Value divisor = l.select(special, one, y), result;
  if (remainder)
    result = isUnsigned ? Value(arith::RemUIOp::create(l.builder, l.loc, x, divisor))
                        : Value(arith::RemSIOp::create(l.builder, l.loc, x, divisor));
  else
    result = isUnsigned ? Value(arith::DivUIOp::create(l.builder, l.loc, x, divisor))
                        : Value(arith::DivSIOp::create(l.builder, l.loc, x, divisor));
  if (!isUnsigned && !remainder)
    result = l.select(isMinusOne, l.sub(zero, x), result);
  return l.select(isZero, zero, result);
}

static Value emitCast(Lanes l, Value x, Type from, Type to) {
  Type type = l.typeOf(to);
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (x.getType() == type && fromFloat == toFloat)
    return x;
  OpBuilder &b = l.builder;
  if (to.isInteger(1))
    return fromFloat ? l.compare(Float::UNE, x, l.constant(from, 0.0))
                     : l.compare(Int::ne, x, l.integer(from, 0));
  if (fromFloat && toFloat)
    return fromBits < toBits ? Value(arith::ExtFOp::create(b, l.loc, type, x))
                             : Value(arith::TruncFOp::create(b, l.loc, type, x));
  if (fromFloat)
    return isUnsignedElement(to) ? Value(arith::FPToUIOp::create(b, l.loc, type, x))
                                 : Value(arith::FPToSIOp::create(b, l.loc, type, x));
  if (toFloat)
    return isUnsignedElement(from) ? Value(arith::UIToFPOp::create(b, l.loc, type, x))
                                   : Value(arith::SIToFPOp::create(b, l.loc, type, x));
  if (fromBits > toBits)
    return arith::TruncIOp::create(b, l.loc, type, x);
  return isUnsignedElement(from) ? Value(arith::ExtUIOp::create(b, l.loc, type, x))
                                 : Value(arith::ExtSIOp::create(b, l.loc, type, x));
}

static Value emitCompare(Lanes l, nn::ComparePredicate predicate, Value x, Value y, Type element) {
  using P = nn::ComparePredicate;
  if (isa<FloatType>(element)) {
    switch (predicate) {
    case P::eq:
      return l.compare(Float::OEQ, x, y);
    case P::ne:
      return l.compare(Float::UNE, x, y);
    case P::lt:
      return l.compare(Float::OLT, x, y);
    case P::le:
      return l.compare(Float::OLE, x, y);
    case P::gt:
      return l.compare(Float::OGT, x, y);
    case P::ge:
      return l.compare(Float::OGE, x, y);
    }
  }
  bool isUnsigned = isUnsignedElement(element);
  switch (predicate) {
  case P::eq:
    return l.compare(Int::eq, x, y);
  case P::ne:
    return l.compare(Int::ne, x, y);
  case P::lt:
    return l.compare(isUnsigned ? Int::ult : Int::slt, x, y);
  case P::le:
    return l.compare(isUnsigned ? Int::ule : Int::sle, x, y);
  case P::gt:
    return l.compare(isUnsigned ? Int::ugt : Int::sgt, x, y);
  case P::ge:
    return l.compare(isUnsigned ? Int::uge : Int::sge, x, y);
  }
  llvm_unreachable("every predicate is listed");
}

static Value emitSign(Lanes l, Value x, Type element) {
  if (isa<FloatType>(element)) {
    Value zero = l.constant(element, 0.0);
    Value negative = l.select(l.compare(Float::OLT, x, zero), l.constant(element, -1.0), zero);
    return l.select(l.compare(Float::OGT, x, zero), l.constant(element, 1.0), negative);
  }
  Value zero = l.integer(element, 0), one = l.integer(element, 1);
  if (isUnsignedElement(element))
    return l.select(l.compare(Int::ne, x, zero), one, zero);
  Value negative = l.select(l.compare(Int::slt, x, zero), l.integer(element, -1), zero);
  return l.select(l.compare(Int::sgt, x, zero), one, negative);
}

/// x^c for the exponents that models use, as the operations that they stand for.
static Value emitPowConstant(Lanes l, Value x, double exponent) {
  Value one = l.constant(l.f32(), 1.0);
  if (exponent == 1.0)
    return x;
  if (exponent == 2.0)
    return l.mul(x, x);
  if (exponent == 3.0)
    return l.mul(l.mul(x, x), x);
  if (exponent == -1.0)
    return l.divFloat(one, x);
  if (exponent == 0.5)
    return l.sqrt(x);
  if (exponent == -0.5)
    return l.divFloat(one, l.sqrt(x));
  return {};
}

static Value emitPowOp(Lanes l, nn::PowOp op, Value x, Value y) {
  Operation *source = op.getRhs().getDefiningOp();
  while (source && isa<nn::BroadcastOp, nn::ReshapeOp>(source))
    source = source->getOperand(0).getDefiningOp();
  if (auto constant = dyn_cast_or_null<nn::ConstantOp>(source))
    if (constant.getValue().isSplat())
      if (Value result =
              emitPowConstant(l, x, constant.getValue().getSplatValue<APFloat>().convertToDouble()))
        return result;
  return emitPow(l, x, y);
}

Value emitElementwise(Lanes l, Operation *op, ValueRange operands) {
  Type element = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  Type resultElement = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  bool isFloat = isa<FloatType>(element), isUnsigned = isUnsignedElement(element);
  Value x = operands[0], y = operands.size() > 1 ? operands[1] : Value();
  auto number = [&](double value) {
    return isFloat ? l.constant(element, value) : l.integer(element, int64_t(value));
  };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::NegOp) { return isFloat ? l.negFloat(x) : l.sub(number(0), x); })
      .Case([&](nn::AbsOp) {
        return isFloat ? l.absFloat(x) : isUnsigned ? x : l.max(x, l.sub(number(0), x), false);
      })
      .Case([&](nn::ExpOp) { return emitExp(l, x); })
      .Case([&](nn::LogOp) { return emitLog(l, x); })
      .Case([&](nn::SqrtOp) { return l.sqrt(x); })
      .Case([&](nn::RsqrtOp) { return l.divFloat(number(1), l.sqrt(x)); })
      .Case([&](nn::ReciprocalOp) { return l.divFloat(number(1), x); })
      .Case([&](nn::TanhOp) { return emitTanh(l, x); })
      .Case([&](nn::SigmoidOp) { return emitSigmoid(l, x); })
      .Case([&](nn::ErfOp) { return emitErf(l, x); })
      .Case([&](nn::SinOp) { return emitSin(l, x); })
      .Case([&](nn::CosOp) { return emitCos(l, x); })
      .Case([&](nn::ReluOp) { return l.max(x, number(0), isUnsigned); })
      .Case([&](nn::SignOp) { return emitSign(l, x, element); })
      .Case([&](nn::FloorOp) { return l.floor(x); })
      .Case([&](nn::CeilOp) { return l.ceil(x); })
      .Case([&](nn::RoundOp) { return l.round(x); })
      .Case([&](nn::NotOp) { return arith::XOrIOp::create(l.builder, l.loc, x, l.integer(element, -1)); })
      .Case([&](nn::AddOp) { return l.add(x, y); })
      .Case([&](nn::SubOp) { return l.sub(x, y); })
      .Case([&](nn::MulOp) { return l.mul(x, y); })
      .Case([&](nn::DivOp) {
        return isFloat ? l.divFloat(x, y) : emitDivision(l, x, y, isUnsigned, /*remainder=*/false);
      })
      .Case([&](nn::MaxOp) { return l.max(x, y, isUnsigned); })
      .Case([&](nn::MinOp) { return l.min(x, y, isUnsigned); })
      .Case([&](nn::PowOp pow) { return emitPowOp(l, pow, x, y); })
      .Case([&](nn::RemOp) {
        return isFloat ? emitRemainder(l, x, y) : emitDivision(l, x, y, isUnsigned, /*remainder=*/true);
      })
      .Case([&](nn::AndOp) { return l.both(x, y); })
      .Case([&](nn::OrOp) { return l.either(x, y); })
      .Case([&](nn::XorOp) { return arith::XOrIOp::create(l.builder, l.loc, x, y); })
      .Case([&](nn::CompareOp compare) { return emitCompare(l, compare.getPredicate(), x, y, element); })
      .Case([&](nn::SelectOp) { return l.select(x, y, operands[2]); })
      .Case([&](nn::CastOp) { return emitCast(l, x, element, resultElement); })
      .Default([](Operation *) { return Value(); });
}

Value emitCombine(Lanes l, nn::ReduceKind kind, Value a, Value b, bool isUnsigned) {
  switch (kind) {
  case nn::ReduceKind::sum:
    return l.add(a, b);
  case nn::ReduceKind::prod:
    return l.mul(a, b);
  case nn::ReduceKind::max:
    return l.max(a, b, isUnsigned);
  case nn::ReduceKind::min:
    return l.min(a, b, isUnsigned);
  }
  llvm_unreachable("every kind is listed");
}

Value emitNeutral(Lanes l, nn::ReduceKind kind, Type element) {
  bool isUnsigned = isUnsignedElement(element), isFloat = isa<FloatType>(element);
  unsigned bits = element.getIntOrFloatBitWidth();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto integer = [&](APInt value) {
    return l.splat(IntegerAttr::get(l.builder.getIntegerType(bits), value), element);
  };
  switch (kind) {
  case nn::ReduceKind::sum:
    return isFloat ? l.constant(element, 0.0) : l.integer(element, 0);
  case nn::ReduceKind::prod:
    return isFloat ? l.constant(element, 1.0) : l.integer(element, 1);
  case nn::ReduceKind::max:
    return isFloat ? l.constant(element, -infinity)
                   : integer(isUnsigned ? APInt::getZero(bits) : APInt::getSignedMinValue(bits));
  case nn::ReduceKind::min:
    return isFloat ? l.constant(element, infinity)
                   : integer(isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits));
  }
  llvm_unreachable("every kind is listed");
}

} // namespace zero
