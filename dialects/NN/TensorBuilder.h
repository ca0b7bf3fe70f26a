//===- TensorBuilder.h - Builds nn ops and infers their types -------------===//
//
// Gradient rules and decompositions are written in it, so that they read as the formulas they are.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECTS_NN_TENSORBUILDER_H
#define ZERO_DIALECTS_NN_TENSORBUILDER_H

#include "dialects/NN/NNOps.h"

namespace zero::nn {

/// Builds nn ops at one location. All shapes are static. What would change nothing (a cast to the same type,
/// a broadcast or reshape to the same shape, a sum over no axes) builds nothing.
class TensorBuilder {
public:
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  static mlir::RankedTensorType typeOf(mlir::Value value);
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
  static int64_t rankOf(mlir::Value value) { return typeOf(value).getRank(); }
  static mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
  /// float32 for the narrower floats, else the type itself: what sums and exponentials are computed in.
  static mlir::Type computeElement(mlir::Type element);

  /// Every element is `value`, rounded to the element type.
  mlir::Value splat(mlir::RankedTensorType type, double value);
  mlir::Value splatLike(mlir::Value like, double value) { return splat(typeOf(like), value); }
  mlir::Value zerosLike(mlir::Value like) { return splat(typeOf(like), 0.0); }
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type element, int64_t axis);

  template <typename OpTy> mlir::Value unary(mlir::Value x) {
    return OpTy::create(builder, loc, x.getType(), x);
  }
  template <typename OpTy> mlir::Value binary(mlir::Value x, mlir::Value y) {
    return OpTy::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  mlir::Value exp(mlir::Value x) { return unary<ExpOp>(x); }
  mlir::Value log(mlir::Value x) { return unary<LogOp>(x); }
  mlir::Value sqrt(mlir::Value x) { return unary<SqrtOp>(x); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }
  mlir::Value add(mlir::Value x, double c) { return add(x, splatLike(x, c)); }
  mlir::Value mul(mlir::Value x, double c) { return mul(x, splatLike(x, c)); }
  mlir::Value div(mlir::Value x, double c) { return div(x, splatLike(x, c)); }
  /// c - x.
  mlir::Value subFrom(double c, mlir::Value x) { return sub(splatLike(x, c), x); }
  mlir::Value compare(ComparePredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value compare(ComparePredicate predicate, mlir::Value x, double c) {
    return compare(predicate, x, splatLike(x, c));
  }
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value cast(mlir::Value x, mlir::Type element);

  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
  /// A 0-d tensor repeated over `shape`.
  mlir::Value broadcastScalar(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
    return broadcast(x, {}, shape);
  }
  /// Undoes the shape change of reduce(_, _, axes): repeats along `axes` up to `shape`.
  mlir::Value broadcastAlong(mlir::Value x, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<int64_t> shape);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes) { return reduce(ReduceKind::sum, x, axes); }
  mlir::Value sumAll(mlir::Value x);
  /// Class labels of 8 or 16 bits as i32: wide enough for any number of classes and `ignore_index`.
  mlir::Value wideLabels(mlir::Value labels);
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, bool transposeLhs = false, bool transposeRhs = false);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace zero::nn

#endif
