//===- ElementwiseOps.cpp - nn's elementwise ops on registers -------------===//
#include "Lanes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// The nearest integer below or at x in magnitude that the type holds; NaN gives 0.
static Value emitFloatToInt(Lanes l, Value x, Type to) {
  StringRef name = isUnsignedElement(to) ? "llvm.fptoui.sat" : "llvm.fptosi.sat";
  return LLVM::CallIntrinsicOp::create(l.builder, l.loc, l.typeOf(to), l.builder.getStringAttr(name),
                                       ValueRange{x})
      ->getResult(0);
}

/// An f64 as the f32 whose last bit is 1 where bits are lost: rounding that once more to f16 or bf16 gives
/// what rounding the f64 once gives.
static Value narrowToOdd(Lanes l, Value x) {
  Value nearest = arith::TruncFOp::create(l.builder, l.loc, l.typeOf(l.f32()), x);
  Value back = arith::ExtFOp::create(l.builder, l.loc, l.typeOf(l.f64()), nearest);
  Value bits = l.bitcast(nearest, l.i32()), one = l.integer(l.i32(), 1);
  Value isFar = l.compare(Float::OGT, l.absFloat(back), l.absFloat(x));
  Value odd = l.either(l.select(isFar, l.sub(bits, one), bits), one);
  return l.bitcast(l.select(l.compare(Float::ONE, back, x), odd, bits), l.f32());
}

/// An integer of 64 bits as an f64 that another rounding to few bits does not tell from it.
static Value widenToOdd(Lanes l, Value x, bool isUnsigned) {
  auto convert = [&](Value value) {
    return isUnsigned ? Value(arith::UIToFPOp::create(l.builder, l.loc, l.typeOf(l.f64()), value))
                      : Value(arith::SIToFPOp::create(l.builder, l.loc, l.typeOf(l.f64()), value));
  };
  auto number = [&](int64_t value) { return l.integer(l.i64(), value); };
  // The lowest 11 bits become one.
  Value lost = l.both(x, number(0x7ff));
  Value sticky = l.select(l.compare(Int::ne, lost, number(0)), number(0x800), number(0));
  Value odd = l.either(l.both(x, number(~int64_t(0x7ff))), sticky);
  Value limit = number(int64_t(1) << 53), isLarge = l.compare(isUnsigned ? Int::ugt : Int::sgt, x, limit);
  if (!isUnsigned)
    isLarge = l.either(isLarge, l.compare(Int::slt, x, number(-(int64_t(1) << 53))));
  return convert(l.select(isLarge, odd, x));
}

Value emitCast(Lanes l, Value x, Type from, Type to) {
  if (from == to)
    return x;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  Type type = l.typeOf(to);
  OpBuilder &b = l.builder;
  if (to.isInteger(1))
    return fromFloat ? l.compare(Float::UNE, x, l.constant(from, 0.0))
                     : l.compare(Int::ne, x, l.integer(from, 0));
  bool toNarrow = toFloat && toBits == 16;
  if (fromFloat && toFloat) {
    if (from.isF64())
      return toNarrow ? l.roundTo(narrowToOdd(l, x), to) : Value(arith::TruncFOp::create(b, l.loc, type, x));
    return to.isF64() ? Value(arith::ExtFOp::create(b, l.loc, type, x)) : l.roundTo(x, to);
  }
  if (fromFloat)
    return emitFloatToInt(l, x, to);
  bool isUnsigned = isUnsignedElement(from);
  if (toNarrow && fromBits == 64)
    return l.roundTo(narrowToOdd(l, widenToOdd(l, x, isUnsigned)), to);
  if (toFloat) {
    Type first = toNarrow && fromBits == 32 ? l.typeOf(l.f64()) : type; // holds every integer of 32 bits
    Value number = isUnsigned ? Value(arith::UIToFPOp::create(b, l.loc, first, x))
                              : Value(arith::SIToFPOp::create(b, l.loc, first, x));
    return first == type ? l.roundTo(number, to) : l.roundTo(narrowToOdd(l, number), to);
  }
  if (fromBits > toBits)
    return arith::TruncIOp::create(b, l.loc, type, x);
  if (fromBits == toBits)
    return x;
  return isUnsigned ? Value(arith::ExtUIOp::create(b, l.loc, type, x))
                    : Value(arith::ExtSIOp::create(b, l.loc, type, x));
}

/// x * 2^y or x / 2^y rounded down. A shift by the width or more leaves nothing, or the sign.
static Value emitShift(Lanes l, Value x, Value y, bool isUnsigned, bool left) {
  Type element = getElementType(x);
  unsigned bits = element.getIntOrFloatBitWidth();
  Value isInside = l.compare(Int::ult, y, l.integer(element, bits)), zero = l.integer(element, 0);
  OpBuilder &b = l.builder;
  if (!left && !isUnsigned)
    return arith::ShRSIOp::create(b, l.loc, x, l.select(isInside, y, l.integer(element, bits - 1)));
  Value count = l.select(isInside, y, zero);
  Value shifted = left ? Value(arith::ShLIOp::create(b, l.loc, x, count))
                       : Value(arith::ShRUIOp::create(b, l.loc, x, count));
  return l.select(isInside, shifted, zero);
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
  Value one = l.constant(getElementType(x), 1.0);
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

/// x^y of integers by squaring, with wrap-around; a negative y gives the reciprocal without its fraction.
static Value emitIntegerPow(Lanes l, Value x, Value y, bool isUnsigned) {
  Type element = getElementType(x);
  unsigned bits = element.getIntOrFloatBitWidth();
  Value zero = l.integer(element, 0), one = l.integer(element, 1);
  auto index = [&](int64_t value) {
    return Value(arith::ConstantOp::create(l.builder, l.loc, l.builder.getI64IntegerAttr(value)));
  };
  auto loop = scf::ForOp::create(
      l.builder, l.loc, index(0), index(bits), index(1), ValueRange{one, x, y},
      [&](OpBuilder &, Location, Value, ValueRange carried) {
        Value result = carried[0], base = carried[1], rest = carried[2];
        Value isOdd = l.compare(Int::ne, l.both(rest, one), zero);
        result = l.select(isOdd, l.mul(result, base), result);
        Value halved = arith::ShRUIOp::create(l.builder, l.loc, rest, one);
        scf::YieldOp::create(l.builder, l.loc, ValueRange{result, l.mul(base, base), halved});
      });
  Value result = loop.getResult(0);
  if (isUnsigned)
    return result;
  // 1^y and (-1)^y are what the loop says, whatever the sign of y.
  Value isUnit = l.either(l.compare(Int::eq, x, one), l.compare(Int::eq, x, l.integer(element, -1)));
  Value isNegative = l.compare(Int::slt, y, zero);
  return l.select(isNegative, l.select(isUnit, result, zero), result);
}

static Value emitPowOp(Lanes l, nn::PowOp op, Value x, Value y, Type element) {
  if (isa<IntegerType>(element))
    return emitIntegerPow(l, x, y, isUnsignedElement(element));
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

/// Ops whose f32 result of f16 or bf16 operands is a value of that type.
static bool keepsType(Operation *op) {
  return isa<nn::NegOp, nn::AbsOp, nn::ReluOp, nn::SignOp, nn::FloorOp, nn::CeilOp, nn::RoundOp, nn::MaxOp,
             nn::MinOp, nn::CompareOp, nn::SelectOp, nn::CastOp>(op);
}

static Value emitOp(Lanes l, Operation *op, ValueRange operands) {
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
      .Case([&](nn::Expm1Op) { return emitExpm1(l, x); })
      .Case([&](nn::LogOp) { return emitLog(l, x); })
      .Case([&](nn::Log1pOp) { return emitLog1p(l, x); })
      .Case([&](nn::SqrtOp) { return l.sqrt(x); })
      .Case([&](nn::RsqrtOp) { return l.divFloat(number(1), l.sqrt(x)); })
      .Case([&](nn::ReciprocalOp) { return l.divFloat(number(1), x); })
      .Case([&](nn::TanhOp) { return emitTanh(l, x); })
      .Case([&](nn::SigmoidOp) { return emitSigmoid(l, x); })
      .Case([&](nn::ErfOp) { return emitErf(l, x); })
      .Case([&](nn::SinOp) { return emitSin(l, x); })
      .Case([&](nn::CosOp) { return emitCos(l, x); })
      .Case([&](nn::AtanOp) { return emitAtan(l, x); })
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
      .Case([&](nn::PowOp pow) { return emitPowOp(l, pow, x, y, element); })
      .Case([&](nn::RemOp) {
        return isFloat ? emitRemainder(l, x, y) : emitDivision(l, x, y, isUnsigned, /*remainder=*/true);
      })
      .Case([&](nn::ShiftLeftOp) { return emitShift(l, x, y, isUnsigned, /*left=*/true); })
      .Case([&](nn::ShiftRightOp) { return emitShift(l, x, y, isUnsigned, /*left=*/false); })
      .Case([&](nn::AndOp) { return l.both(x, y); })
      .Case([&](nn::OrOp) { return l.either(x, y); })
      .Case([&](nn::XorOp) { return arith::XOrIOp::create(l.builder, l.loc, x, y); })
      .Case([&](nn::CompareOp compare) { return emitCompare(l, compare.getPredicate(), x, y, element); })
      .Case([&](nn::SelectOp) { return l.select(x, y, operands[2]); })
      .Case([&](nn::CastOp) { return emitCast(l, x, element, resultElement); })
      .Default([](Operation *) { return Value(); });
}

Value emitElementwise(Lanes l, Operation *op, ValueRange operands) {
  Value result = emitOp(l, op, operands);
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return keepsType(op) || isa<IntegerType>(element) ? result : l.roundTo(result, element);
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
