//===- GradientsContraction.cpp - Gradient rules of sums and products -----===//
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero::nn;

using Gradients = SmallVector<Value>;

// sum:      d x_i = g
// max, min: d x_i = x_i == y ? g / (number of j with x_j == y) : 0
// prod:     d x_i = g * product of the others: 0 where one of them is 0, else the product of all
//           non-zeros, divided by x_i unless that is 0
Gradients ReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  Value x = getOperand(), g = resultGradients[0];
  ArrayRef<int64_t> axes = getAxes(), shape = b.shapeOf(x);
  switch (getKind()) {
  case ReduceKind::sum:
    return {b.broadcastAlong(g, axes, shape)};
  case ReduceKind::max:
  case ReduceKind::min: {
    Value extreme = b.compare(ComparePredicate::eq, x, b.broadcastAlong(getResult(), axes, shape));
    Value count = b.sum(b.cast(extreme, b.elementOf(x)), axes);
    return {b.select(extreme, b.broadcastAlong(b.div(g, count), axes, shape), b.zerosLike(x))};
  }
  case ReduceKind::prod: {
    Value isZero = b.compare(ComparePredicate::eq, x, 0.0);
    Value zeros = b.cast(isZero, b.elementOf(x));
    Value nonZero = b.select(isZero, b.splatLike(x, 1.0), x);
    Value otherZeros = b.sub(b.broadcastAlong(b.sum(zeros, axes), axes, shape), zeros);
    Value product = b.mul(g, b.reduce(ReduceKind::prod, nonZero, axes));
    Value others = b.div(b.broadcastAlong(product, axes, shape), nonZero);
    return {b.select(b.compare(ComparePredicate::eq, otherZeros, 0.0), others, b.zerosLike(x))};
  }
  }
  return {Value()};
}

// y_i = sum of x_j with j <= i: d x_j = sum of g_i with i >= j
Gradients CumSumOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  return {CumSumOp::create(builder, getLoc(), getType(), resultGradients[0], getAxis(), getExclusive(),
                           !getReverse())};
}

// Y = A B: d A = G B^T, d B = A^T G, each built in the layout that the operand is stored in.
Gradients MatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  bool lhsTransposed = getTransposeLhs(), rhsTransposed = getTransposeRhs();
  Gradients gradients(2);
  if (needed[0])
    gradients[0] = lhsTransposed ? b.matmul(getRhs(), g, rhsTransposed, true) // (d A)^T = B G^T
                                 : b.matmul(g, getRhs(), false, !rhsTransposed);
  if (needed[1])
    gradients[1] = rhsTransposed ? b.matmul(g, getLhs(), true, lhsTransposed) // (d B)^T = G^T A
                                 : b.matmul(getLhs(), g, !lhsTransposed, false);
  return gradients;
}
