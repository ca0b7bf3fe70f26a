//===- DecompositionsActivation.cpp - gelu, softmax, layer_norm -----------===//
//
// Half-precision operands: computed in float32 and rounded once.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"
#include <numbers>

using namespace mlir;
using namespace zero::nn;

// x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Type element = b.elementOf(getOperand());
  Value x = b.cast(getOperand(), b.computeElement(element)), t;
  if (getApproximate() == GeluKind::none) {
    t = b.unary<ErfOp>(b.mul(x, std::numbers::sqrt2 / 2.0));
  } else {
    Value cube = b.mul(b.mul(x, x), x);
    t = b.unary<TanhOp>(
        b.mul(b.add(x, b.mul(cube, 0.044715)), std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
  }
  return SmallVector<Value>{b.cast(b.mul(b.mul(x, 0.5), b.add(t, 1.0)), element)};
}

// e = exp(x - max(x)), y = e / sum(e)
FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Type element = b.elementOf(getOperand());
  Value x = b.cast(getOperand(), b.computeElement(element));
  ArrayRef<int64_t> shape = b.shapeOf(x);
  int64_t axis = getAxis();
  Value e = b.exp(b.sub(x, b.broadcastAlong(b.reduce(ReduceKind::max, x, axis), axis, shape)));
  Value y = b.div(e, b.broadcastAlong(b.sum(e, axis), axis, shape));
  return SmallVector<Value>{b.cast(y, element)};
}

// mean = sum(x) / n, var = sum((x - mean)^2) / n, rstd = 1 / sqrt(var + epsilon):
//   y = (x - mean) rstd scale + bias
FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Type element = b.elementOf(getOperand()), compute = b.computeElement(element);
  Value x = b.cast(getOperand(), compute);
  ArrayRef<int64_t> shape = b.shapeOf(x);
  int64_t leading = b.rankOf(x) - b.rankOf(getScale());
  SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(0, leading));
  SmallVector<int64_t> row = llvm::to_vector(llvm::seq<int64_t>(leading, shape.size()));
  double size = static_cast<double>(b.typeOf(getScale()).getNumElements());
  Value mean = b.div(b.sum(x, row), size);
  Value centred = b.sub(x, b.broadcastAlong(mean, row, shape));
  Value variance = b.div(b.sum(b.mul(centred, centred), row), size);
  Value rstd = b.unary<RsqrtOp>(b.add(variance, getEpsilon().convertToDouble()));
  Value y = b.mul(centred, b.broadcastAlong(rstd, row, shape));
  y = b.mul(y, b.broadcastAlong(b.cast(getScale(), compute), rows, shape));
  if (getBias())
    y = b.add(y, b.broadcastAlong(b.cast(getBias(), compute), rows, shape));
  return SmallVector<Value>{b.cast(y, element), b.cast(mean, b.elementOf(getMean())),
                            b.cast(rstd, b.elementOf(getRstd()))};
}
