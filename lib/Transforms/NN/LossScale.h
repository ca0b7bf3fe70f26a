//===- LossScale.h - The dynamic loss scale as nn ops ---------------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_LOSSSCALE_H
#define ZERO_LIB_TRANSFORMS_NN_LOSSSCALE_H

#include "dialects/NN/TensorBuilder.h"

namespace zero::nn {

/// What DeepSpeed 0.19's DynamicLossScaler is made with; its factor is 2.
struct LossScaleRule {
  int64_t window = 0;     ///< steps without overflow after which the scale doubles; 0: the scale stays as it is
  int64_t hysteresis = 1; ///< overflows until the scale halves
  bool isConsecutive = false; ///< hysteresis is refilled after each step without overflow, else when the scale doubles
  double minimum = 1;
};

/// The states of a scale, 0-d: f32, i64, i64.
struct LossScaleStates {
  mlir::Value scale;
  mlir::Value windowSteps; ///< steps without overflow since the scale doubled or overflowed: 0 after an overflow
  mlir::Value hysteresis;  ///< overflows until the scale halves, the next one included
};

/// The states after a step; `finite` is an i1, false where the step has overflowed. The scale ends at 2^127, where
/// DeepSpeed's goes on: beyond it is no f32.
LossScaleStates updateLossScale(TensorBuilder &b, const LossScaleRule &rule, const LossScaleStates &states,
                                mlir::Value finite);

} // namespace zero::nn

#endif
