//===- DoubleParts.h - What functions of f64 are made of ------------------===//
#ifndef ZERO_LIB_CODEGEN_DOUBLEPARTS_H
#define ZERO_LIB_CODEGEN_DOUBLEPARTS_H

#include "Lanes.h"

namespace zero {

/// ln 2 as a sum; the product of the first with an exponent is exact.
inline constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;

/// The integer nearest to x * perUnit, as a float and as an i64.
struct Nearest {
  mlir::Value number, integer;
};
Nearest splitNearest(Lanes lanes, mlir::Value x, double perUnit);

/// 2^n for n in [-1022, 1023].
mlir::Value powerOfTwo(Lanes lanes, mlir::Value n);
/// x * 2^n by way of two powers: n may be twice as large, the result subnormal.
mlir::Value scaleByPower(Lanes lanes, mlir::Value x, mlir::Value n);

/// A positive x = 2^exponent * significand, the significand in [sqrt(1/2), sqrt(2)).
struct Significand {
  mlir::Value significand, exponent;
};
Significand splitSignificand(Lanes lanes, mlir::Value x);

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
mlir::Value expTail(Lanes lanes, mlir::Value r);

/// What C's pow says where e^(y log|x|) says something else; `result` is that.
mlir::Value fixPower(Lanes lanes, mlir::Value x, mlir::Value y, mlir::Value result);

} // namespace zero

#endif
