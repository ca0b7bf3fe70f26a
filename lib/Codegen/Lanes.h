//===- Lanes.h - Arithmetic on one element or on a vector of elements -----===//
//
// The same code computes scalars and vectors, so an element's bits do not depend on which of them it is in.
// No operation carries fast-math flags; a fused multiply-add is one only where `fma` is called.
//
// An f16 or bf16 is an f32 in registers, computed as such and rounded to its type after each op: the same
// bits whether the next op reads it from memory or is in the same kernel.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CODEGEN_LANES_H
#define ZERO_LIB_CODEGEN_LANES_H

#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace zero {

class Lanes {
public:
  Lanes(mlir::OpBuilder &builder, mlir::Location loc, int64_t width)
      : builder(builder), loc(loc), width(width) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t width; ///< 1: scalars

  /// The type that one element has in registers; ui8 is i8 there, its signedness is the op's; f16 is f32.
  mlir::Type registerOf(mlir::Type element) const;
  /// The type that `width` elements have in registers.
  mlir::Type typeOf(mlir::Type element) const;
  mlir::Type i16() const { return builder.getI16Type(); }
  mlir::Type f32() const { return builder.getF32Type(); }
  mlir::Type f64() const { return builder.getF64Type(); }
  mlir::Type i32() const { return builder.getI32Type(); }
  mlir::Type i64() const { return builder.getI64Type(); }

  mlir::Value constant(mlir::Type element, double value) const; // float elements
  mlir::Value integer(mlir::Type element, int64_t value) const; // integer elements
  mlir::Value splat(mlir::Attribute value, mlir::Type element) const;
  /// An f32 in registers rounded to a value of `element`, to nearest even; itself for other types than f16
  /// and bf16.
  mlir::Value roundTo(mlir::Value value, mlir::Type element) const;
  /// Between elements as memory has them (f16, bf16: 16 bits; i1: a byte) and in registers. What is stored is
  /// a value of the type.
  mlir::Value fromMemory(mlir::Value value, mlir::Type element) const;
  mlir::Value toMemory(mlir::Value value, mlir::Type element) const;
  /// One scalar in all lanes.
  mlir::Value broadcast(mlir::Value scalar) const;
  /// start, start + 1, ... as integers.
  mlir::Value count(mlir::Value start, mlir::Type element) const;

  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value divFloat(mlir::Value a, mlir::Value b) const;
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) const;
  mlir::Value negFloat(mlir::Value a) const;
  mlir::Value absFloat(mlir::Value a) const;
  mlir::Value sqrt(mlir::Value a) const;
  mlir::Value floor(mlir::Value a) const;
  mlir::Value ceil(mlir::Value a) const;
  mlir::Value round(mlir::Value a) const;
  mlir::Value trunc(mlir::Value a) const;
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign) const;
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) const;
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) const;
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) const;
  mlir::Value both(mlir::Value a, mlir::Value b) const;
  mlir::Value either(mlir::Value a, mlir::Value b) const;
  mlir::Value bitcast(mlir::Value a, mlir::Type element) const;
  mlir::Value shiftLeft(mlir::Value a, int64_t bits) const;
  mlir::Value shiftRight(mlir::Value a, int64_t bits) const; // keeps the sign
  /// NaN where an operand is NaN.
  mlir::Value max(mlir::Value a, mlir::Value b, bool isUnsigned) const;
  mlir::Value min(mlir::Value a, mlir::Value b, bool isUnsigned) const;

  /// p[0] + p[1] x + p[2] x^2 + ... by Horner's rule with fused multiply-adds.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) const;
};

/// Element type of a scalar or vector.
mlir::Type getElementType(mlir::Value value);

// ---- Functions of f32 (MathFunctions.cpp) and of f64 (DoubleFunctions.cpp, DoublePower.cpp), inline,
// without calls. The bounds are those of both.
mlir::Value emitExp(Lanes lanes, mlir::Value x);                // 1 ulp
mlir::Value emitExpm1(Lanes lanes, mlir::Value x);              // 2 ulp
mlir::Value emitLog(Lanes lanes, mlir::Value x);                // 1 ulp
mlir::Value emitLog1p(Lanes lanes, mlir::Value x);              // 2 ulp
mlir::Value emitTanh(Lanes lanes, mlir::Value x);               // 3 ulp
mlir::Value emitErf(Lanes lanes, mlir::Value x);                // 2 ulp
mlir::Value emitSigmoid(Lanes lanes, mlir::Value x);            // 2 ulp
mlir::Value emitSin(Lanes lanes, mlir::Value x);                // 1 ulp; NaN beyond 2^40
mlir::Value emitCos(Lanes lanes, mlir::Value x);                // 1 ulp; NaN beyond 2^40
mlir::Value emitAtan(Lanes lanes, mlir::Value x);               // 2 ulp
mlir::Value emitPow(Lanes lanes, mlir::Value x, mlir::Value y); // 1 ulp, exact where the power is an f64
mlir::Value emitRemainder(Lanes lanes, mlir::Value x, mlir::Value y); // exact

// Of f64.
mlir::Value emitDoubleExp(Lanes lanes, mlir::Value x);
mlir::Value emitDoubleExpm1(Lanes lanes, mlir::Value x);
mlir::Value emitDoubleLog(Lanes lanes, mlir::Value x);
mlir::Value emitDoubleLog1p(Lanes lanes, mlir::Value x);
mlir::Value emitDoubleErf(Lanes lanes, mlir::Value x);
mlir::Value emitDoubleSinCos(Lanes lanes, mlir::Value x, int64_t quadrantOffset);
mlir::Value emitDoublePow(Lanes lanes, mlir::Value x, mlir::Value y);

/// x in registers as an element of `from`, converted to one of `to`. A float that an integer type cannot hold
/// becomes the nearest one that it can, NaN becomes 0; integers keep their low bits; floats round to nearest
/// even, once.
mlir::Value emitCast(Lanes lanes, mlir::Value x, mlir::Type from, mlir::Type to);

/// The result of an elementwise op (not a composite) on operands in registers.
mlir::Value emitElementwise(Lanes lanes, mlir::Operation *op, mlir::ValueRange operands);

/// How a reduction combines two values, and what it starts from.
mlir::Value emitCombine(Lanes lanes, nn::ReduceKind kind, mlir::Value a, mlir::Value b, bool isUnsigned);
mlir::Value emitNeutral(Lanes lanes, nn::ReduceKind kind, mlir::Type element);

} // namespace zero

#endif
