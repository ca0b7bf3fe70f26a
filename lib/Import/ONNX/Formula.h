//===- Formula.h - Arithmetic on tensors of one shape, in few words -------===//
#ifndef ZERO_LIB_IMPORT_ONNX_FORMULA_H
#define ZERO_LIB_IMPORT_ONNX_FORMULA_H

#include "Importer.h"

namespace zero::onnx_import {

/// Builds elementwise ops of one node. Operands of one op have one shape; a number stands for a tensor of it
/// in the other operand's shape and element type.
class Formula {
public:
  explicit Formula(NodeContext &node) : node(node) {}

  Tensor like(const Tensor &x, double number) const {
    return node.broadcastTo(node.splat(number, x.elementType()), x.shape, [&] { return node.shapeOf(x); });
  }
  template <typename OpTy> Tensor unary(const Tensor &x) const { return node.unary<OpTy>(x); }
  template <typename OpTy> Tensor binary(const Tensor &x, const Tensor &y) const {
    return node.binary<OpTy>(x, y);
  }

  Tensor neg(const Tensor &x) const { return unary<nn::NegOp>(x); }
  Tensor add(const Tensor &x, const Tensor &y) const { return binary<nn::AddOp>(x, y); }
  Tensor sub(const Tensor &x, const Tensor &y) const { return binary<nn::SubOp>(x, y); }
  Tensor mul(const Tensor &x, const Tensor &y) const { return binary<nn::MulOp>(x, y); }
  Tensor div(const Tensor &x, const Tensor &y) const { return binary<nn::DivOp>(x, y); }
  Tensor add(const Tensor &x, double y) const { return y == 0 ? x : add(x, like(x, y)); }
  Tensor mul(const Tensor &x, double y) const { return y == 1 ? x : mul(x, like(x, y)); }
  Tensor div(const Tensor &x, double y) const { return y == 1 ? x : div(x, like(x, y)); }
  Tensor sub(double x, const Tensor &y) const { return sub(like(y, x), y); }

  Tensor compare(nn::ComparePredicate predicate, const Tensor &x, const Tensor &y) const {
    return node.make<nn::CompareOp>(x.shape, node.builder.getI1Type(), predicate, x.value, y.value);
  }
  Tensor compare(nn::ComparePredicate predicate, const Tensor &x, double y) const {
    return compare(predicate, x, like(x, y));
  }
  Tensor select(const Tensor &condition, const Tensor &onTrue, const Tensor &onFalse) const {
    return node.make<nn::SelectOp>(onTrue.shape, onTrue.elementType(), condition.value, onTrue.value,
                                   onFalse.value);
  }
  /// x cut to [low, high]: unlike `max` and `min`, a bound that is met passes no gradient.
  Tensor clip(Tensor x, double low, double high) const {
    x = select(compare(nn::ComparePredicate::le, x, low), like(x, low), x);
    return select(compare(nn::ComparePredicate::ge, x, high), like(x, high), x);
  }

  /// `function` of the node's first input, a float tensor; of f16 and bf16 it is computed in f32.
  mlir::LogicalResult setFunction(llvm::function_ref<Tensor(const Tensor &)> function) const {
    mlir::FailureOr<Tensor> x = node.floatInput(0);
    if (mlir::failed(x))
      return mlir::failure();
    mlir::Type element = x->elementType();
    bool isNarrow = element.getIntOrFloatBitWidth() < 32;
    Tensor y = function(isNarrow ? node.cast(*x, node.builder.getF32Type()) : *x);
    return node.set(node.cast(y, element));
  }

private:
  NodeContext &node;
};

} // namespace zero::onnx_import

#endif
