//===- GradientsComposite.cpp - Gradient rules of composite ops -----------===//
//
// Half-precision operands: the gradient is computed in float32 and rounded once.
//
// What depends on forward values alone is written as in the decomposition: CSE merges the two, the forward
// kernel computes it once, and one value (gelu's slope, layer_norm's n) is saved in the place of the operand.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"
#include <numbers>

using namespace mlir;
using namespace zero::nn;

using Gradients = SmallVector<Value>;

// y = x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2, phi = Phi':
//   d x = g (Phi(x) + x phi(x))
// y = x/2 (1 + t), t = tanh(u), u = sqrt(2/pi) (x + 0.044715 x^3):
//   d x = g (1/2 (1 + t) + x/2 (1 - t^2) u'), u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)
Gradients GeluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  Type element = b.elementOf(getOperand()), compute = b.computeElement(element);
  Value x = b.cast(getOperand(), compute), g = b.cast(resultGradients[0], compute), slope;
  if (getApproximate() == GeluKind::none) {
    Value cdf = b.mul(b.add(b.unary<ErfOp>(b.mul(x, std::numbers::sqrt2 / 2.0)), 1.0), 0.5);
    Value pdf = b.mul(b.exp(b.mul(b.mul(x, x), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    slope = b.add(cdf, b.mul(x, pdf));
  } else {
    constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, c = 0.044715;
    Value square = b.mul(x, x);
    Value t = b.unary<TanhOp>(b.mul(b.add(x, b.mul(b.mul(square, x), c)), k));
    Value inner = b.mul(b.add(b.mul(square, 3.0 * c), 1.0), k);
    Value right = b.mul(b.mul(b.mul(x, 0.5), b.subFrom(1.0, b.mul(t, t))), inner);
    slope = b.add(b.mul(b.add(t, 1.0), 0.5), right);
  }
  return {b.cast(b.mul(g, slope), element)};
}

// d x = y (g - sum(g y))
Gradients SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  Type element = b.elementOf(getOperand()), compute = b.computeElement(element);
  Value y = b.cast(getResult(), compute), g = b.cast(resultGradients[0], compute);
  int64_t axis = getAxis();
  Value inner = b.broadcastAlong(b.sum(b.mul(g, y), axis), axis, b.shapeOf(y));
  return {b.cast(b.mul(y, b.sub(g, inner)), element)};
}

// n = (x - mean) rstd, y = n scale + bias, means over the row:
//   d bias = sum(g), d scale = sum(g n), both over the leading dimensions
//   d n = g scale, d x = rstd (d n - mean(d n) - n mean(d n n)) + (d mean - d rstd rstd^2 n) / size
Gradients LayerNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  TensorBuilder b(builder, getLoc());
  Gradients gradients(getNumOperands());
  ArrayRef<int64_t> shape = b.shapeOf(getOperand());
  int64_t leading = b.rankOf(getOperand()) - b.rankOf(getScale());
  SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(0, leading));
  SmallVector<int64_t> row = llvm::to_vector(llvm::seq<int64_t>(leading, shape.size()));
  int64_t size = std::max<int64_t>(1, b.typeOf(getScale()).getNumElements());
  Type element = b.elementOf(getOperand()), compute = b.computeElement(element);
  auto alongRow = [&](Value statistic) { return b.broadcastAlong(b.cast(statistic, compute), row, shape); };
  auto rowMean = [&](Value value) { return alongRow(b.div(b.sum(value, row), double(size))); };

  bool ofScale = needed[1] && resultGradients[0];
  Value rstd, normal, g, dx;
  if (needed[0] || ofScale) {
    rstd = alongRow(getRstd());
    normal = b.mul(b.sub(b.cast(getOperand(), compute), alongRow(getMean())), rstd);
  }
  if (resultGradients[0])
    g = b.cast(resultGradients[0], compute);
  if (ofScale)
    gradients[1] = b.cast(b.sum(b.mul(g, normal), rows), b.elementOf(getScale()));
  if (getBias() && needed[2] && g)
    gradients[2] = b.cast(b.sum(g, rows), b.elementOf(getBias()));
  if (!needed[0])
    return gradients;
  if (g) {
    Value dn = b.mul(g, b.broadcastAlong(b.cast(getScale(), compute), rows, shape));
    Value centred = b.sub(b.sub(dn, rowMean(dn)), b.mul(normal, rowMean(b.mul(dn, normal))));
    dx = b.mul(rstd, centred);
  }
  auto addTerm = [&](Value term) { dx = dx ? b.add(dx, term) : term; };
  if (resultGradients[1])
    addTerm(b.div(alongRow(resultGradients[1]), double(size)));
  if (resultGradients[2])
    addTerm(b.mul(b.mul(alongRow(resultGradients[2]), b.mul(b.mul(rstd, rstd), normal)), -1.0 / size));
  gradients[0] = b.cast(dx, element);
  return gradients;
}

// See nn.attention_grad. A gradient h of log_sum_exp adds (P = probabilities of the query over the keys):
//   d q += scale h (P k), an attention with the keys as values
//   d k += P^T (scale h q), the gradient of its values
Gradients AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  TensorBuilder b(builder, getLoc());
  Gradients gradients(getNumOperands());
  auto accumulate = [&](unsigned operand, Value term) {
    if (needed[operand])
      gradients[operand] = gradients[operand] ? b.add(gradients[operand], term) : term;
  };
  auto gradientOp = [&](Value value, Value result, Value g) {
    return AttentionGradOp::create(builder, getLoc(), getQuery().getType(), getKey().getType(),
                                   getKey().getType(), getQuery(), getKey(), value, getMask(), result,
                                   getLogSumExp(), g, getScaleAttr(), getCausalAttr());
  };
  if (Value g = resultGradients[0]) {
    auto op = gradientOp(getValue(), getResult(), g);
    accumulate(0, op.getQueryGradient());
    accumulate(1, op.getKeyGradient());
    accumulate(2, op.getValueGradient());
  }
  if (Value h = resultGradients[1]) {
    Value perHead =
        b.cast(b.mul(b.transpose(h, {0, 2, 1}), getScale().convertToDouble()), b.elementOf(getQuery()));
    Value weight = b.broadcast(perHead, {0, 1, 2}, b.shapeOf(getQuery()));
    auto ofKeys =
        AttentionOp::create(builder, getLoc(), getQuery().getType(), getLogSumExp().getType(), getQuery(),
                            getKey(), getKey(), getMask(), getScaleAttr(), getCausalAttr());
    accumulate(0, b.mul(weight, ofKeys.getResult()));
    if (needed[1])
      accumulate(1, gradientOp(getKey(), ofKeys.getResult(), b.mul(weight, getQuery())).getValueGradient());
  }
  return gradients;
}

// p = exp(x - lse): d x = label counts ? seed (p - onehot(label)) : 0; a gradient h of log_sum_exp adds h p
Gradients CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                        ArrayRef<bool> needed) {
  Gradients gradients(2);
  if (!needed[0])
    return gradients;
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = b.shapeOf(getLogits()), positions = b.shapeOf(getLabels());
  int64_t classes = b.rankOf(getLogits()) - 1;
  Type element = b.elementOf(getLogits()), compute = b.computeElement(element);
  auto alongClasses = [&](Value value) { return b.broadcastAlong(value, classes, shape); };
  Value lse = b.cast(getLogSumExp(), compute);
  Value p = b.exp(b.sub(b.cast(getLogits(), compute), alongClasses(lse)));
  Value dx;
  if (Value seed = resultGradients[0]) {
    Value labels = b.wideLabels(getLabels());
    Value weight = b.broadcastScalar(b.cast(seed, compute), positions);
    Value counted = b.compare(ComparePredicate::ne, labels, double(static_cast<int64_t>(getIgnoreIndex())));
    weight = b.select(counted, weight, b.zerosLike(weight));
    Value index = b.iota(shape, b.elementOf(labels), classes);
    Value isLabel = b.compare(ComparePredicate::eq, index, alongClasses(labels));
    dx = b.mul(alongClasses(weight), b.select(isLabel, b.add(p, -1.0), p));
  }
  if (Value h = resultGradients[2]) {
    Value term = b.mul(alongClasses(b.cast(h, compute)), p);
    dx = dx ? b.add(dx, term) : term;
  }
  gradients[0] = b.cast(dx, element);
  return gradients;
}

// d prediction = 2 g (prediction - target) = -d target
Gradients MseLossOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  Gradients gradients(2);
  if (!needed[0] && !needed[1])
    return gradients;
  TensorBuilder b(builder, getLoc());
  Type compute = b.elementOf(getLossSum());
  Value difference = b.sub(b.cast(getPrediction(), compute), b.cast(getTarget(), compute));
  Value g = b.mul(resultGradients[0], 2.0);
  Value d = b.mul(difference, b.broadcastScalar(g, b.shapeOf(difference)));
  if (needed[0])
    gradients[0] = b.cast(d, b.elementOf(getPrediction()));
  if (needed[1])
    gradients[1] = b.cast(b.neg(d), b.elementOf(getTarget()));
  return gradients;
}

// d x = g
Gradients OutputLossOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  Value g = b.cast(resultGradients[0], b.elementOf(getOperand()));
  return {b.reshape(g, b.shapeOf(getOperand()))};
}
