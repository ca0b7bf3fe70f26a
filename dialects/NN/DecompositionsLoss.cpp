//===- DecompositionsLoss.cpp - cross_entropy, mse_loss, output_loss ------===//
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero::nn;

// m = max(x), s = sum(exp(x - m)): loss = log(s) - (x[label] - m), log_sum_exp = m + log(s)
FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = b.shapeOf(getLogits());
  int64_t classes = b.rankOf(getLogits()) - 1;
  auto alongClasses = [&](Value value) { return b.broadcastAlong(value, classes, shape); };
  Value x = b.cast(getLogits(), b.computeElement(b.elementOf(getLogits())));
  Value labels = b.wideLabels(getLabels());
  Value max = b.reduce(ReduceKind::max, x, classes);
  Value shifted = b.sub(x, alongClasses(max));
  Value logSum = b.log(b.sum(b.exp(shifted), classes));
  Value isLabel =
      b.compare(ComparePredicate::eq, b.iota(shape, b.elementOf(labels), classes), alongClasses(labels));
  Value picked = b.sum(b.select(isLabel, shifted, b.zerosLike(shifted)), classes);
  Value counted = b.compare(ComparePredicate::ne, labels, double(static_cast<int64_t>(getIgnoreIndex())));
  Value losses = b.cast(b.sub(logSum, picked), b.elementOf(getLossSum()));
  Value loss = b.sumAll(b.select(counted, losses, b.zerosLike(losses)));
  Value count = b.sumAll(b.cast(counted, builder.getI64Type()));
  return SmallVector<Value>{loss, count, b.cast(b.add(max, logSum), b.elementOf(getLogSumExp()))};
}

FailureOr<SmallVector<Value>> MseLossOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Type compute = b.elementOf(getLossSum());
  Value difference = b.sub(b.cast(getPrediction(), compute), b.cast(getTarget(), compute));
  Value loss = b.sumAll(b.mul(difference, difference));
  double count = static_cast<double>(b.typeOf(difference).getNumElements());
  return SmallVector<Value>{loss, b.splat(b.typeOf(getCount()), count)};
}

FailureOr<SmallVector<Value>> OutputLossOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, getLoc());
  Value loss = b.cast(b.reshape(getOperand(), {}), b.elementOf(getLossSum()));
  return SmallVector<Value>{loss, b.splat(b.typeOf(getCount()), 1.0)};
}
