//===- DoubleFunctions.cpp - Elementary functions of f64, inline ----------===//
//
// Polynomials are minimax fits with a relative error below 2^-58; the bounds in Lanes.h were measured against
// 80-bit arithmetic (test/Unit/Codegen). Special values are those of C's functions.
//
//===----------------------------------------------------------------------===//
#include "DoubleParts.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace zero {

using Float = arith::CmpFPredicate;
using Int = arith::CmpIPredicate;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Nearest splitNearest(Lanes l, Value x, double perUnit) {
  // The integer stands in the low bits of x * perUnit + 1.5 x 2^52.
  Value magic = l.constant(l.f64(), 0x1.8p52);
  Value shifted = l.fma(x, l.constant(l.f64(), perUnit), magic);
  return {l.sub(shifted, magic), l.sub(l.bitcast(shifted, l.i64()), l.integer(l.i64(), 0x4338000000000000))};
}

Value powerOfTwo(Lanes l, Value n) {
  return l.bitcast(l.shiftLeft(l.add(n, l.integer(l.i64(), 1023)), 52), l.f64());
}

Value scaleByPower(Lanes l, Value x, Value n) {
  Value half = l.shiftRight(n, 1);
  return l.mul(l.mul(x, powerOfTwo(l, half)), powerOfTwo(l, l.sub(n, half)));
}

Significand splitSignificand(Lanes l, Value x) {
  Value isSmall = l.compare(Float::OLT, x, l.constant(l.f64(), 0x1p-1022));
  Value bits = l.bitcast(l.select(isSmall, l.mul(x, l.constant(l.f64(), 0x1p54)), x), l.i64());
  Value e = l.shiftRight(l.sub(bits, l.integer(l.i64(), 0x3fe6a09e667f3bcd)), 52);
  Value m = l.bitcast(l.sub(bits, l.shiftLeft(e, 52)), l.f64());
  e = l.sub(e, l.select(isSmall, l.integer(l.i64(), 54), l.integer(l.i64(), 0)));
  Value narrow = arith::TruncIOp::create(l.builder, l.loc, l.typeOf(l.i32()), e);
  return {m, arith::SIToFPOp::create(l.builder, l.loc, l.typeOf(l.f64()), narrow)};
}

Value expTail(Lanes l, Value r) {
  return l.polynomial(r, {0.5, 0.1666666666666667, 0.041666666666666685, 0.008333333333326134,
                          0.0013888888888874394, 0.00019841269874822207, 2.4801587347343323e-05,
                          2.755725539854808e-06, 2.7557252912941005e-07, 2.5105217609736546e-08,
                          2.092158794838977e-09});
}

static Value clamp(Lanes l, Value x, double low, double high) {
  Value lowest = l.constant(l.f64(), low), highest = l.constant(l.f64(), high);
  x = l.select(l.compare(Float::OLT, x, lowest), lowest, x);
  return l.select(l.compare(Float::OGT, x, highest), highest, x);
}

/// x = n ln 2 + r, |r| <= ln 2 / 2.
static Value subtractLn2(Lanes l, Value x, Value n) {
  Value r = l.fma(n, l.constant(l.f64(), -kLn2High), x);
  return l.fma(n, l.constant(l.f64(), -kLn2Low), r);
}

// e^x = 2^n e^r.
Value emitDoubleExp(Lanes l, Value x) {
  x = clamp(l, x, -746.0, 710.0);
  Nearest n = splitNearest(l, x, std::numbers::log2e);
  Value r = subtractLn2(l, x, n.number);
  Value p = l.add(l.fma(expTail(l, r), l.mul(r, r), r), l.constant(l.f64(), 1.0));
  return scaleByPower(l, p, n.integer);
}

// e^x - 1 = 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)), which overflows only where the result does.
Value emitDoubleExpm1(Lanes l, Value x) {
  Value cut = clamp(l, x, -45.0, 710.0);
  Nearest n = splitNearest(l, cut, std::numbers::log2e);
  Value r = subtractLn2(l, cut, n.number);
  Value p = l.fma(expTail(l, r), l.mul(r, r), r);
  Value scale = powerOfTwo(l, l.sub(n.integer, l.integer(l.i64(), 1)));
  Value result = l.fma(scale, p, l.sub(scale, l.constant(l.f64(), 0.5)));
  result = l.add(result, result);
  return l.select(l.compare(Float::OEQ, x, l.constant(l.f64(), 0.0)), x, result); // -0
}

// x = 2^e m; log(m) = f - f^2/2 + s (f^2/2 + R(s^2)), f = m - 1, s = f / (2 + f). `correction` is added
// before rounding.
static Value emitLogOf(Lanes l, Value x, Value correction) {
  auto number = [&](double value) { return l.constant(l.f64(), value); };
  auto [m, e] = splitSignificand(l, x);
  Value f = l.sub(m, number(1.0)), s = l.divFloat(f, l.add(number(2.0), f)), z = l.mul(s, s);
  Value p = l.polynomial(z, {0.6666666666666734, 0.399999999994147, 0.2857142874238399, 0.22222198573443866,
                             0.18183564317950046, 0.15314050634838658, 0.14795950039128522});
  Value halfSquare = l.mul(l.mul(f, f), number(0.5));
  Value low = l.mul(e, number(kLn2Low));
  if (correction)
    low = l.add(low, correction);
  Value rest = l.fma(s, l.fma(z, p, halfSquare), low);
  Value result = l.sub(l.mul(e, number(kLn2High)), l.sub(l.sub(halfSquare, rest), f));
  Value zero = number(0.0);
  result = l.select(l.compare(Float::OEQ, x, zero), number(-kInfinity), result);
  result = l.select(l.compare(Float::OLT, x, zero), number(std::nan("")), result);
  // Infinity and NaN are themselves.
  return l.select(l.compare(Float::OLT, x, number(kInfinity)), result, x);
}
Value emitDoubleLog(Lanes l, Value x) { return emitLogOf(l, x, {}); }

// log(1 + x) = log(u) + (1 + x - u) / u, u = 1 + x rounded.
Value emitDoubleLog1p(Lanes l, Value x) {
  Value one = l.constant(l.f64(), 1.0), u = l.add(one, x), part = l.sub(u, one);
  Value missing = l.add(l.sub(one, l.sub(u, part)), l.sub(x, part));
  Value result = emitLogOf(l, u, l.divFloat(missing, u));
  return l.select(l.compare(Float::OEQ, x, l.constant(l.f64(), 0.0)), x, result); // -0
}

// |x| <= 0.9: a polynomial; beyond: 1 - e^(-x^2) q(y), y = (|x| - 2) / (|x| + 2).
Value emitDoubleErf(Lanes l, Value x) {
  auto f = [&](double value) { return l.constant(l.f64(), value); };
  Value t = l.absFloat(x), square = l.mul(x, x);
  Value small =
      l.mul(l.polynomial(square, {1.1283791670955126, -0.37612638903183726, 0.11283791670953704,
                                  -0.026866170644806626, 0.00522397762160311, -0.0008548326754913012,
                                  0.00012055321041945426, -1.4925299733482385e-05, 1.6455213838918695e-06,
                                  -1.6275475225346164e-07, 1.4046042528423895e-08, -8.481838969831653e-10}),
            t);
  Value cut = l.select(l.compare(Float::OGT, t, f(6.0)), f(6.0), t);
  Value y = l.divFloat(l.sub(cut, f(2.0)), l.add(cut, f(2.0)));
  Value q = l.polynomial(y, {0.2553956763105057, -0.42718584741396426, 0.24165819424241755,
                             -0.07897858101459848, 0.0037328924178604834, 0.006997461730896108,
                             -0.0008471437773473023, -0.000981977907422155, 4.3563564969016526e-05,
                             0.00017438108193387755, 2.7466415891853783e-05, -2.775168735032259e-05,
                             -1.3734106304821018e-05, 2.083695008763006e-06, 3.282900484787329e-06});
  Value large = l.fma(l.negFloat(emitDoubleExp(l, l.negFloat(l.mul(cut, cut)))), q, f(1.0));
  return l.copySign(l.select(l.compare(Float::OGT, t, f(0.9)), large, small), x);
}

// x = k pi/2 + r, pi/2 in three parts; the quadrant chooses sine or cosine of r and the sign.
Value emitDoubleSinCos(Lanes l, Value x, int64_t quadrantOffset) {
  auto f = [&](double value) { return l.constant(l.f64(), value); };
  Nearest k = splitNearest(l, x, 2.0 * std::numbers::inv_pi);
  Value quadrant = l.add(k.integer, l.integer(l.i64(), quadrantOffset));
  Value first = l.fma(k.number, f(-0x1.921fb54442d18p0), x); // exact
  // first - k second, with what rounding misses of the product and the difference.
  Value second = f(0x1.1a62633145c07p-54), product = l.mul(k.number, second);
  Value r = l.sub(first, product), part = l.sub(r, first);
  Value rest = l.sub(l.sub(first, l.sub(r, part)), l.add(product, part));
  rest = l.sub(rest, l.fma(k.number, second, l.negFloat(product)));
  rest = l.fma(k.number, f(0x1.f1976b7ed8fbcp-110), rest);
  Value square = l.mul(r, r);
  Value p = l.polynomial(square, {-0.16666666666666632, 0.008333333333322316, -0.0001984126982972519,
                                  2.7557313662027397e-06, -2.5050753257594096e-08, 1.589650445910065e-10});
  // sin(r + rest) = sin(r) + rest (1 - r^2 / 2), cos(r + rest) = cos(r) - rest r.
  Value half = l.mul(square, f(0.5));
  Value sine = l.add(r, l.fma(l.mul(p, square), r, l.fma(l.negFloat(half), rest, rest)));
  Value q = l.polynomial(square, {0.0416666666666666, -0.001388888888887399, 2.4801587289395014e-05,
                                  -2.7557314326049407e-07, 2.087571956024578e-09, -1.1359448711687689e-11});
  Value whole = l.sub(f(1.0), half), lost = l.sub(l.sub(f(1.0), whole), half);
  Value cosine = l.add(whole, l.add(lost, l.fma(l.mul(square, square), q, l.mul(l.negFloat(r), rest))));
  auto bit = [&](int64_t mask) {
    return l.compare(Int::ne, l.both(quadrant, l.integer(l.i64(), mask)), l.integer(l.i64(), 0));
  };
  Value result = l.select(bit(1), cosine, sine);
  result = l.select(bit(2), l.negFloat(result), result);
  result = l.select(l.compare(Float::OLT, l.absFloat(x), f(0x1p40)), result, f(std::nan("")));
  if (quadrantOffset == 0)
    result = l.select(l.compare(Float::OEQ, x, f(0.0)), x, result); // -0
  return result;
}

} // namespace zero
