//===- DecompositionsOptimizer.cpp - adam and sgd -------------------------===//
//
// Elementwise in every tensor; the 0-d scalars are computed once and repeated. The same code serves whole
// tensors and the 0-d tensors of a zero.update body.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero::nn;

namespace {
/// The operands of an update in the type that it is computed in.
struct Update {
  /// `parameter`: the master where there is one.
  Update(OpBuilder &builder, Location loc, Value parameter, Value skip)
      : b(builder, loc), shape(TensorBuilder::shapeOf(parameter)),
        compute(TensorBuilder::computeElement(TensorBuilder::elementOf(parameter))) {
    if (skip)
      held = b.broadcastScalar(b.compare(ComparePredicate::ne, skip, 0.0), shape);
  }
  Value tensor(Value value) { return b.cast(value, compute); }
  Value scalar(Value value) { return b.broadcastScalar(b.cast(value, compute), shape); }
  /// `value` as a state, or the state `old` as it was where the update is held back.
  Value result(Value value, Value old) {
    value = b.cast(value, TensorBuilder::elementOf(old));
    return held ? b.select(held, old, value) : value;
  }
  /// The new parameter, and the new master where there is one: then the parameter is that master, rounded.
  SmallVector<Value> newParameter(Value value, Value parameter, Value master) {
    if (!master)
      return {result(value, parameter)};
    Value newMaster = result(value, master);
    return {b.cast(newMaster, TensorBuilder::elementOf(parameter)), newMaster};
  }

  TensorBuilder b;
  ArrayRef<int64_t> shape;
  Type compute;
  Value held; ///< null where every update is applied
};
} // namespace

// See the op's description; the order of operations is torch.optim.Adam's.
FailureOr<SmallVector<Value>> AdamOp::decompose(OpBuilder &builder) {
  Update u(builder, getLoc(), getMaster() ? getMaster() : getParameter(), getSkip());
  TensorBuilder &b = u.b;
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble(), decay = getWeightDecay().convertToDouble();
  Value p = u.tensor(getMaster() ? getMaster() : getParameter());
  Value g = b.mul(u.tensor(getGradient()), u.scalar(getGradientScale()));
  if (decay != 0.0 && getDecoupled())
    p = b.mul(p, u.scalar(b.subFrom(1.0, b.mul(getLearningRate(), decay))));
  else if (decay != 0.0)
    g = b.add(g, b.mul(p, decay));
  Value m = b.add(b.mul(u.tensor(getExpAvg()), beta1), b.mul(g, 1.0 - beta1));
  Value v = b.add(b.mul(u.tensor(getExpAvgSq()), beta2), b.mul(b.mul(g, g), 1.0 - beta2));
  Value stepSize = b.div(getLearningRate(), getBiasCorrection1());
  Value denominator = b.add(b.div(b.sqrt(v), u.scalar(b.sqrt(getBiasCorrection2()))), epsilon);
  p = b.sub(p, b.mul(u.scalar(stepSize), b.div(m, denominator)));
  SmallVector<Value> results = u.newParameter(p, getParameter(), getMaster());
  results.push_back(u.result(m, getExpAvg()));
  results.push_back(u.result(v, getExpAvgSq()));
  return results;
}

FailureOr<SmallVector<Value>> SgdOp::decompose(OpBuilder &builder) {
  Update u(builder, getLoc(), getMaster() ? getMaster() : getParameter(), getSkip());
  TensorBuilder &b = u.b;
  double momentum = getMomentum().convertToDouble(), decay = getWeightDecay().convertToDouble();
  Value p = u.tensor(getMaster() ? getMaster() : getParameter());
  Value g = b.mul(u.tensor(getGradient()), u.scalar(getGradientScale()));
  if (decay != 0.0)
    g = b.add(g, b.mul(p, decay));
  Value buffer;
  if (getMomentumBuffer()) {
    buffer = b.add(b.mul(u.tensor(getMomentumBuffer()), momentum), g);
    g = getNesterov() ? b.add(g, b.mul(buffer, momentum)) : buffer;
    buffer = u.result(buffer, getMomentumBuffer());
  }
  SmallVector<Value> results =
      u.newParameter(b.sub(p, b.mul(u.scalar(getLearningRate()), g)), getParameter(), getMaster());
  if (buffer)
    results.push_back(buffer);
  return results;
}
