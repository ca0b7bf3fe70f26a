//===- MathFunctions.cpp - Elementary functions of f32, inline ------------===//
//
// Coefficients are minimax fits; the error bounds in Lanes.h were measured against float64 over the whole
// range (test/Unit/Codegen). Special values are those of C's functions.
//
//===----------------------------------------------------------------------===//
#include "DoubleParts.h"
#include <cmath>
#include <limits>
#include <numbers>

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace zero {

using Float = arith::CmpFPredicate;
using Int = arith::CmpIPredicate;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// `value` in float64 as the sum of its float32 and what that misses.
static std::pair<double, double> splitFloat(double value) {
  double high = static_cast<float>(value);
  return {high, value - high};
}

// x = n ln 2 + r with |r| <= ln 2 / 2; e^x = 2^(n - 1) (2 e^r), which overflows only where the result does. n
// stands in the low bits of x / ln 2 + 1.5 x 2^23. Results below 2^-125 are 0.
Value emitExp(Lanes l, Value x) {
  if (getElementType(x).isF64())
    return emitDoubleExp(l, x);
  Value low = l.constant(l.f32(), -87.3), high = l.constant(l.f32(), 89.0), two = l.constant(l.f32(), 2.0);
  x = l.select(l.compare(Float::OLT, x, low), low, x);
  x = l.select(l.compare(Float::OGT, x, high), high, x);
  Value magic = l.constant(l.f32(), 12582912.0);
  Value shifted = l.fma(x, l.constant(l.f32(), std::numbers::log2e), magic);
  Value n = l.sub(shifted, magic);
  auto [ln2, ln2Rest] = splitFloat(std::numbers::ln2);
  Value r = l.fma(n, l.constant(l.f32(), -ln2), x);
  r = l.fma(n, l.constant(l.f32(), -ln2Rest), r);
  Value p = l.polynomial(r, {0.4999999403953552, 0.1666651964187622, 0.04166840761899948,
                             0.008368922397494316, 0.0013814171543344855});
  p = l.fma(l.fma(p, l.mul(r, r), r), two, two);
  // The shift drops the bits of 1.5 x 2^23.
  Value exponent = l.add(l.shiftLeft(l.bitcast(shifted, l.i32()), 23), l.integer(l.i32(), 126 << 23));
  return l.mul(p, l.bitcast(exponent, l.f32()));
}

// (e^x - 1) / 2 = 2^(n-1) (e^r - 1) + (2^(n-1) - 1/2), for x in [-18, 89].
static Value emitHalfExpm1(Lanes l, Value x) {
  Value magic = l.constant(l.f32(), 12582912.0);
  Value shifted = l.fma(x, l.constant(l.f32(), std::numbers::log2e), magic);
  Value n = l.sub(shifted, magic);
  auto [ln2, ln2Rest] = splitFloat(std::numbers::ln2);
  Value r = l.fma(n, l.constant(l.f32(), -ln2), x);
  r = l.fma(n, l.constant(l.f32(), -ln2Rest), r);
  Value p = l.polynomial(
      r, {0.5, 0.16666576266288757, 0.04166637361049652, 0.008363181725144386, 0.0013941122451797128});
  p = l.fma(p, l.mul(r, r), r);
  Value exponent = l.add(l.shiftLeft(l.bitcast(shifted, l.i32()), 23), l.integer(l.i32(), 126 << 23));
  Value scale = l.bitcast(exponent, l.f32());
  return l.fma(scale, p, l.sub(scale, l.constant(l.f32(), 0.5)));
}

// Twice the half, which overflows only where the result does.
Value emitExpm1(Lanes l, Value x) {
  if (getElementType(x).isF64())
    return emitDoubleExpm1(l, x);
  Value least = l.constant(l.f32(), -18.0), most = l.constant(l.f32(), 89.0);
  Value cut = l.select(l.compare(Float::OLT, x, least), least, x);
  cut = l.select(l.compare(Float::OGT, cut, most), most, cut);
  Value half = emitHalfExpm1(l, cut), result = l.add(half, half);
  return l.select(l.compare(Float::OEQ, x, l.constant(l.f32(), 0.0)), x, result); // -0
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log(m) = g - g^2/2 + g^3 p(g), g = m - 1. `correction` is added
// before rounding.
static Value emitLogOf(Lanes l, Value x, Value correction) {
  Value isSmall = l.compare(Float::OLT, x, l.constant(l.f32(), 0x1p-126));
  Value y = l.select(isSmall, l.mul(x, l.constant(l.f32(), 0x1p23)), x);
  Value scaled = l.select(isSmall, l.constant(l.f32(), -23.0), l.constant(l.f32(), 0.0));
  Value bits = l.bitcast(y, l.i32());
  Value e = l.shiftRight(l.sub(bits, l.integer(l.i32(), 0x3f3504f3)), 23);
  Value g = l.sub(l.bitcast(l.sub(bits, l.shiftLeft(e, 23)), l.f32()), l.constant(l.f32(), 1.0));
  e = l.add(arith::SIToFPOp::create(l.builder, l.loc, l.typeOf(l.f32()), e), scaled);
  Value p = l.polynomial(g, {0.3333331346511841, -0.25000008940696716, 0.2000211924314499,
                             -0.1666799634695053, 0.14219550788402557, -0.12405591458082199,
                             0.11888174712657928, -0.11675640940666199, 0.06746601313352585});
  Value square = l.mul(g, g);
  p = l.mul(p, l.mul(square, g));
  constexpr double ln2 = 0.693145751953125;
  p = l.fma(e, l.constant(l.f32(), std::numbers::ln2 - ln2), p);
  if (correction)
    p = l.add(p, correction);
  p = l.fma(square, l.constant(l.f32(), -0.5), p);
  Value result = l.fma(e, l.constant(l.f32(), ln2), l.add(g, p));
  Value zero = l.constant(l.f32(), 0.0), infinity = l.constant(l.f32(), kInfinity);
  result = l.select(l.compare(Float::OEQ, x, zero), l.constant(l.f32(), -kInfinity), result);
  result = l.select(l.compare(Float::OLT, x, zero), l.constant(l.f32(), std::nan("")), result);
  // Infinity and NaN are themselves.
  return l.select(l.compare(Float::ULT, x, infinity), l.select(l.compare(Float::UNO, x, x), x, result), x);
}

Value emitLog(Lanes l, Value x) {
  return getElementType(x).isF64() ? emitDoubleLog(l, x) : emitLogOf(l, x, {});
}

// log(1 + x) = log(u) + (1 + x - u) / u, u = 1 + x rounded.
Value emitLog1p(Lanes l, Value x) {
  if (getElementType(x).isF64())
    return emitDoubleLog1p(l, x);
  Value one = l.constant(l.f32(), 1.0), u = l.add(one, x), part = l.sub(u, one);
  Value missing = l.add(l.sub(one, l.sub(u, part)), l.sub(x, part));
  Value result = emitLogOf(l, u, l.divFloat(missing, u));
  return l.select(l.compare(Float::OEQ, x, l.constant(l.f32(), 0.0)), x, result); // -0
}

// t / (t + 2), t = e^2|x| - 1: one division, nothing is chosen between, small results lose nothing, and near -1 and 1, where 1 - tanh^2
// and 1 + tanh are what others go on with, an error of t counts least.
Value emitTanh(Lanes l, Value x) {
  if (getElementType(x).isF64()) {
    Value cut = l.constant(l.f64(), 40.0), magnitude = l.absFloat(x);
    magnitude = l.select(l.compare(Float::OGT, magnitude, cut), cut, magnitude);
    Value t = emitDoubleExpm1(l, l.add(magnitude, magnitude));
    return l.copySign(l.divFloat(t, l.add(t, l.constant(l.f64(), 2.0))), x);
  }
  // Beyond 9.02 the result is 1.
  Value most = l.constant(l.f32(), 20.0), magnitude = l.absFloat(x), twice = l.add(magnitude, magnitude);
  Value half = emitHalfExpm1(l, l.select(l.compare(Float::OGT, twice, most), most, twice));
  return l.copySign(l.divFloat(half, l.add(half, l.constant(l.f32(), 1.0))), x);
}

// |x| > 475/512: 1 - e^q(|x|), below a polynomial.
Value emitErf(Lanes l, Value x) {
  if (getElementType(x).isF64())
    return emitDoubleErf(l, x);
  auto f = [&](double value) { return l.constant(l.f32(), value); };
  Value t = l.absFloat(x), square = l.mul(x, x);
  Value q = l.fma(f(-1.72853470e-5), t, f(3.83197126e-4));
  q = l.fma(q, square, l.fma(f(-3.88396438e-3), t, f(2.42546219e-2)));
  for (double coefficient : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1})
    q = l.fma(q, t, f(coefficient));
  q = l.fma(q, t, l.negFloat(t));
  Value large = l.sub(f(1.0), emitExp(l, q));
  Value p = l.polynomial(
      square, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4});
  Value small = l.fma(p, t, t);
  Value isLarge = l.compare(Float::OGT, t, f(0.927734375));
  return l.copySign(l.select(isLarge, large, small), x);
}

// e = e^-|x|: 1 / (1 + e) or e / (1 + e), neither of which overflows.
Value emitSigmoid(Lanes l, Value x) {
  Type element = getElementType(x);
  Value one = l.constant(element, 1.0), e = emitExp(l, l.negFloat(l.absFloat(x)));
  Value isNegative = l.compare(Float::OLT, x, l.constant(element, 0.0));
  return l.divFloat(l.select(isNegative, e, one), l.add(one, e));
}

// In float64: x = k pi/2 + r; the quadrant chooses sine or cosine of r and the sign.
static Value emitSinCos(Lanes l, Value x, int64_t quadrantOffset) {
  if (getElementType(x).isF64())
    return emitDoubleSinCos(l, x, quadrantOffset);
  auto f = [&](double value) { return l.constant(l.f64(), value); };
  Value wide = arith::ExtFOp::create(l.builder, l.loc, l.typeOf(l.f64()), x);
  Value magic = f(0x1.8p52);
  Value shifted = l.fma(wide, f(2.0 * std::numbers::inv_pi), magic);
  Value k = l.sub(shifted, magic);
  Value quadrant = l.add(l.bitcast(shifted, l.i64()), l.integer(l.i64(), quadrantOffset));
  Value r = l.fma(k, f(-0x1.921fb54442d18p0), wide);
  r = l.fma(k, f(-0x1.1a62633145c07p-54), r);
  Value square = l.mul(r, r);
  Value sine = l.polynomial(square, {-0.166666666416265235595, 0.0083333293858894631756,
                                     -0.000198393348360966317347, 0.0000027183114939898219064});
  sine = l.fma(l.mul(sine, square), r, r);
  Value cosine = l.polynomial(square, {1.0, -0.499999997251031003120, 0.0416666233237390631894,
                                       -0.00138867637746099294692, 0.0000243904487962774090654});
  auto bit = [&](int64_t mask) {
    return l.compare(Int::ne, l.both(quadrant, l.integer(l.i64(), mask)), l.integer(l.i64(), 0));
  };
  Value result = l.select(bit(1), cosine, sine);
  result = l.select(bit(2), l.negFloat(result), result);
  Value inRange = l.compare(Float::OLT, l.absFloat(wide), f(0x1p40));
  result = l.select(inRange, result, f(std::nan("")));
  return arith::TruncFOp::create(l.builder, l.loc, l.typeOf(l.f32()), result);
}
Value emitSin(Lanes lanes, Value x) { return emitSinCos(lanes, x, 0); }
Value emitCos(Lanes lanes, Value x) { return emitSinCos(lanes, x, 1); }

// The tangent's angle is one of 0, pi/4, pi/2 and that of z with |z| <= tan(pi/8).
Value emitAtan(Lanes l, Value x) {
  Type element = getElementType(x);
  bool isDouble = element.isF64();
  auto f = [&](double value) { return l.constant(element, value); };
  Value a = l.absFloat(x), one = f(1.0);
  Value isLarge = l.compare(Float::OGT, a, f(2.414213562373095)),
        isMiddle = l.compare(Float::OGT, a, f(0.41421356237309503));
  auto choose = [&](Value large, Value middle, Value small) {
    return l.select(isLarge, large, l.select(isMiddle, middle, small));
  };
  Value z = l.divFloat(choose(f(-1.0), l.sub(a, one), a), choose(a, l.add(a, one), one));
  Value square = l.mul(z, z);
  Value p = isDouble
                ? l.polynomial(square, {-0.33333333333333326, 0.19999999999997695, -0.14285714285391066,
                                        0.1111111108836892, -0.09090908151440287, 0.07692282915244052,
                                        -0.06666229073539694, 0.05877044514335497, -0.05218550840246453,
                                        0.045041458308374235, -0.033488363142403374, 0.015209298935389344})
                : l.polynomial(square, {-0.33333316445350647, 0.19998489320278168, -0.14243848621845245,
                                        0.10596004873514175, -0.0608346089720726});
  // Half of pi in two parts.
  double high = isDouble ? 0x1.921fb54442d18p0 : static_cast<float>(std::numbers::pi / 2);
  double low = isDouble ? 0x1.1a62633145c07p-54 : std::numbers::pi / 2 - high;
  Value rest = l.fma(l.mul(square, z), p, choose(f(low), f(low / 2), f(0.0)));
  Value result = l.add(choose(f(high), f(high / 2), f(0.0)), l.add(z, rest));
  return l.copySign(result, x);
}

// e^(y log|x|) in float64, then C's special values.
Value emitPow(Lanes l, Value x, Value y) {
  if (getElementType(x).isF64())
    return emitDoublePow(l, x, y);
  auto f = [&](double value) { return l.constant(l.f64(), value); };
  auto widen = [&](Value value) {
    return Value(arith::ExtFOp::create(l.builder, l.loc, l.typeOf(l.f64()), value));
  };
  x = widen(x), y = widen(y);
  Value a = l.absFloat(x), zero = f(0.0), one = f(1.0);

  // log(a): a = 2^e m; log(m) = 2 atanh(s), s = (m - 1) / (m + 1).
  Value bits = l.bitcast(a, l.i64());
  Value e = l.shiftRight(l.sub(bits, l.integer(l.i64(), 0x3fe6a09e667f3bcd)), 52);
  Value m = l.bitcast(l.sub(bits, l.shiftLeft(e, 52)), l.f64());
  Value s = l.divFloat(l.sub(m, one), l.add(m, one)), square = l.mul(s, s);
  Value p = l.polynomial(
      square, {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19});
  Value log = l.mul(l.fma(l.mul(p, square), s, s), f(2.0));
  Value narrow = arith::TruncIOp::create(l.builder, l.loc, l.typeOf(l.i32()), e);
  Value exponent = arith::SIToFPOp::create(l.builder, l.loc, l.typeOf(l.f64()), narrow);
  log = l.fma(exponent, f(std::numbers::ln2), log);
  log = l.select(l.compare(Float::OEQ, a, zero), f(-kInfinity), log);
  log = l.select(l.compare(Float::ULT, a, f(kInfinity)), l.select(l.compare(Float::UNO, a, a), a, log), a);

  // e^t; beyond +-200 the float32 result is infinite or zero.
  Value t = l.mul(y, log);
  t = l.select(l.compare(Float::OLT, t, f(-200.0)), f(-200.0), t);
  t = l.select(l.compare(Float::OGT, t, f(200.0)), f(200.0), t);
  Value magic = f(0x1.8p52), shifted = l.fma(t, f(std::numbers::log2e), magic), n = l.sub(shifted, magic);
  Value r = l.fma(n, f(-std::numbers::ln2), t);
  SmallVector<double> inverseFactorials = {1.0};
  for (int i = 1; i <= 11; ++i)
    inverseFactorials.push_back(inverseFactorials.back() / i);
  Value power = l.add(l.bitcast(shifted, l.i64()), l.integer(l.i64(), 1023 - 0x4338000000000000));
  Value result = l.mul(l.polynomial(r, inverseFactorials), l.bitcast(l.shiftLeft(power, 52), l.f64()));

  result = fixPower(l, x, y, result);
  return arith::TruncFOp::create(l.builder, l.loc, l.typeOf(l.f32()), result);
}

// Long division in float64, 37 bits of the quotient or more in each round: each remainder is exact.
Value emitRemainder(Lanes l, Value x, Value y) {
  bool narrow = getElementType(x).isF32();
  Type wideType = l.typeOf(l.f64());
  auto widen = [&](Value value) {
    return narrow ? Value(arith::ExtFOp::create(l.builder, l.loc, wideType, value)) : value;
  };
  Value wideX = widen(x), dividend = l.absFloat(wideX), divisor = l.absFloat(widen(y));
  Value zero = l.constant(l.f64(), 0.0);
  auto index = [&](int64_t value) {
    return Value(arith::ConstantOp::create(l.builder, l.loc, l.builder.getI64IntegerAttr(value)));
  };
  auto loop = scf::ForOp::create(l.builder, l.loc, index(0), index(narrow ? 10 : 60), index(1), dividend);
  {
    OpBuilder::InsertionGuard guard(l.builder);
    l.builder.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getRegionIterArgs().front();
    Value quotient = l.divFloat(rest, divisor);
    // A long quotient stays below the true one; an overflowing one takes a large step.
    Value isLong = l.compare(Float::OGT, quotient, l.constant(l.f64(), 0x1p38));
    quotient = l.select(isLong, l.mul(quotient, l.constant(l.f64(), 1.0 - 0x1p-40)), quotient);
    Value largest = l.constant(l.f64(), 0x1p1000);
    quotient = l.trunc(l.select(l.compare(Float::OGT, quotient, largest), largest, quotient));
    quotient = l.bitcast(l.both(l.bitcast(quotient, l.i64()), l.integer(l.i64(), ~int64_t(0x3fff))), l.f64());
    Value next = l.fma(l.negFloat(quotient), divisor, rest);
    // A short quotient that was rounded up to an integer leaves a negative rest.
    next = l.select(l.compare(Float::OLT, next, zero), l.add(next, divisor), next);
    next = l.select(l.compare(Float::OGE, rest, divisor), next, rest);
    scf::YieldOp::create(l.builder, l.loc, next);
  }
  Value rest = l.copySign(loop.getResult(0), wideX);
  // NaN for a zero divisor, an infinite dividend, and NaN.
  Value valid = l.both(l.compare(Float::OGT, divisor, zero),
                       l.compare(Float::OLT, dividend, l.constant(l.f64(), kInfinity)));
  rest = l.select(valid, rest, l.constant(l.f64(), std::nan("")));
  return narrow ? Value(arith::TruncFOp::create(l.builder, l.loc, l.typeOf(l.f32()), rest)) : rest;
}

} // namespace zero
