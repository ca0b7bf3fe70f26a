//===- DoublePower.cpp - x^y of f64, inline -------------------------------===//
//
// e^(y log|x|) with the logarithm and the product as sums of two floats (relative error 2^-64): the result is
// the float nearest to the power but for rare ties, and the power itself where that is a float (3^6 is 729).
//
//===----------------------------------------------------------------------===//
#include "DoubleParts.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace zero {

using Float = arith::CmpFPredicate;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// high + low, |low| at most half a unit in the last place of high.
struct Sum {
  Value high, low;
};

/// Arithmetic of sums.
struct Sums {
  Lanes l;

  Value number(double value) const { return l.constant(l.f64(), value); }
  /// a + b where |a| >= |b|, exactly.
  Sum fastAdd(Value a, Value b) const {
    Value high = l.add(a, b);
    return {high, l.sub(b, l.sub(high, a))};
  }
  /// a + b, exactly.
  Sum add(Value a, Value b) const {
    Value high = l.add(a, b), part = l.sub(high, a);
    return {high, l.add(l.sub(a, l.sub(high, part)), l.sub(b, part))};
  }
  Sum multiply(Sum a, Sum b) const {
    Value high = l.mul(a.high, b.high);
    Value low = l.fma(a.high, b.high, l.negFloat(high));
    low = l.fma(a.high, b.low, l.fma(a.low, b.high, low));
    return fastAdd(high, low);
  }
};
} // namespace

// a = 2^e m, s = (m - 1) / (m + 1): log(m) = 2 s + s^3 (2/3 + s^2 W(s^2)).
static Sum emitLogSum(Sums sums, Value a) {
  Lanes l = sums.l;
  auto [m, e] = splitSignificand(l, a);
  Value one = sums.number(1.0), f = l.sub(m, one), g = l.add(m, one), lost = l.sub(m, l.sub(g, one));
  Value s = l.divFloat(f, g);
  Value rest = l.fma(l.negFloat(s), lost, l.fma(l.negFloat(s), g, f));
  Sum quotient = {s, l.divFloat(rest, g)};
  Sum square = sums.multiply(quotient, quotient);
  Value w = l.polynomial(square.high, {0.4, 0.2857142857142843, 0.2222222222227632, 0.1818181817117305,
                                       0.15384616600828407, 0.13333247803786608, 0.11768460284773102,
                                       0.10426314198612113, 0.10990222264855837});
  Sum factor = sums.fastAdd(sums.number(0x1.5555555555555p-1), l.mul(square.high, w));
  factor.low = l.add(factor.low, sums.number(0x1.5555555555555p-55));
  Sum cubic = sums.multiply(sums.multiply(square, factor), quotient);
  Sum twice = {l.add(s, s), l.add(quotient.low, quotient.low)};
  Sum mantissa = sums.fastAdd(twice.high, cubic.high);
  mantissa.low = l.add(mantissa.low, l.add(twice.low, cubic.low));
  Sum total = sums.add(l.mul(e, sums.number(kLn2High)), mantissa.high);
  total.low = l.add(total.low, l.fma(e, sums.number(kLn2Low), mantissa.low));
  return sums.fastAdd(total.high, total.low);
}

Value fixPower(Lanes l, Value x, Value y, Value result) {
  auto f = [&](double value) { return l.constant(l.f64(), value); };
  Value a = l.absFloat(x), zero = f(0.0), one = f(1.0);
  Value isInteger = l.compare(Float::OEQ, l.floor(y), y), half = l.mul(y, f(0.5));
  Value isOdd = l.both(isInteger, l.compare(Float::ONE, l.floor(half), half));
  result = l.select(isOdd, l.copySign(result, x), result);
  Value isNegative = l.both(l.compare(Float::OLT, x, zero), l.compare(Float::OGT, x, f(-kInfinity)));
  Value isFinite = l.compare(Float::OLT, l.absFloat(y), f(kInfinity));
  Value noRoot = l.both(l.both(isNegative, isFinite), l.compare(Float::ONE, l.floor(y), y));
  result = l.select(noRoot, f(std::nan("")), result);
  Value unit = l.both(l.compare(Float::OEQ, a, one), l.compare(Float::OEQ, l.absFloat(y), f(kInfinity)));
  Value isOne = l.either(l.either(l.compare(Float::OEQ, y, zero), l.compare(Float::OEQ, x, one)), unit);
  return l.select(isOne, one, result);
}

Value emitDoublePow(Lanes l, Value x, Value y) {
  Sums sums{l};
  Value a = l.absFloat(x);
  Sum log = emitLogSum(sums, a);
  Value high = l.mul(y, log.high);
  Value low = l.fma(y, log.low, l.fma(y, log.high, l.negFloat(high)));
  // Beyond these the result is infinite or zero; what was cut has no rest.
  Value lowest = sums.number(-746.0), highest = sums.number(710.0);
  Value isLow = l.compare(Float::OLT, high, lowest), isHigh = l.compare(Float::OGT, high, highest);
  Value cut = l.select(isLow, lowest, l.select(isHigh, highest, high));
  low = l.select(l.either(isLow, isHigh), sums.number(0.0), low);
  Nearest n = splitNearest(l, cut, std::numbers::log2e);
  Value first = l.fma(n.number, sums.number(-kLn2High), cut); // exact
  Value r = l.fma(n.number, sums.number(-kLn2Low), first);
  Value rest = l.add(l.fma(n.number, sums.number(-kLn2Low), l.sub(first, r)), low);
  // e^(r + rest) - 1 = r + c + rest (1 + r + c)
  Value curved = l.mul(l.mul(r, r), expTail(l, r));
  Sum part = sums.fastAdd(r, l.fma(rest, l.add(r, curved), l.add(curved, rest)));
  Sum power = sums.fastAdd(sums.number(1.0), part.high);
  Value p = l.add(power.high, l.add(power.low, part.low));
  Value result = scaleByPower(l, p, n.integer);

  // The logarithms of 0, infinity and NaN, and infinite y.
  auto f = [&](double value) { return sums.number(value); };
  Value isZero = l.compare(Float::OEQ, a, f(0.0)), isInfinite = l.compare(Float::OEQ, a, f(kInfinity));
  Value isLarge = l.compare(Float::OGT, a, f(1.0)), rises = l.compare(Float::OGT, y, f(0.0));
  // Of 0 and infinity, and of an infinite y: 0 or infinity.
  Value yInfinite = l.compare(Float::OEQ, l.absFloat(y), f(kInfinity));
  Value extreme = l.either(l.either(isZero, isInfinite), yInfinite);
  Value same = l.select(rises, f(kInfinity), f(0.0)), opposite = l.select(rises, f(0.0), f(kInfinity));
  result = l.select(extreme, l.select(isLarge, same, opposite), result);
  Value isNaN = l.either(l.compare(Float::UNO, x, x), l.compare(Float::UNO, y, y));
  result = l.select(isNaN, f(std::nan("")), result);
  return fixPower(l, x, y, result);
}

} // namespace zero
