//===- LossScale.cpp - The dynamic loss scale as nn ops -------------------===//
#include "LossScale.h"

using namespace mlir;

namespace zero::nn {

LossScaleStates updateLossScale(TensorBuilder &b, const LossScaleRule &rule, const LossScaleStates &states,
                                Value finite) {
  auto choose = [&](Value condition, double onTrue, Value onFalse) {
    return b.select(condition, b.splatLike(onFalse, onTrue), onFalse);
  };
  // DeepSpeed doubles where the steps since the overflow, this one left out, are a multiple of the window.
  Value isFull = b.compare(ComparePredicate::eq, states.windowSteps, double(rule.window));
  Value isLast = b.compare(ComparePredicate::eq, states.hysteresis, 1.0);

  Value doubled = b.binary<MinOp>(b.mul(states.scale, 2.0), b.splatLike(states.scale, std::ldexp(1.0, 127)));
  Value halved = b.binary<MaxOp>(b.mul(states.scale, 0.5), b.splatLike(states.scale, rule.minimum));
  Value refilled = b.splatLike(states.hysteresis, double(rule.hysteresis));

  LossScaleStates next;
  next.scale = b.select(finite, b.select(isFull, doubled, states.scale), b.select(isLast, halved, states.scale));
  next.windowSteps = b.select(finite, choose(isFull, 1.0, b.add(states.windowSteps, 1.0)),
                              b.zerosLike(states.windowSteps));
  next.hysteresis = b.select(finite, rule.isConsecutive ? refilled : b.select(isFull, refilled, states.hysteresis),
                             choose(isLast, 1.0, b.add(states.hysteresis, -1.0)));
  return next;
}

} // namespace zero::nn
