//===- PredictFunction.h - The outputs of @forward as a function of their own //
#ifndef ZERO_LIB_TRANSFORMS_NN_PREDICTFUNCTION_H
#define ZERO_LIB_TRANSFORMS_NN_PREDICTFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace zero::nn {

/// Moves the outputs of `forward` into a new function @predict behind it, which holds what they are computed from
/// and takes no label or input that it does not read. It takes all parameters: it sees them where training does. What
/// `forward` holds for the outputs alone is erased. Without outputs nothing happens. A function that has outputs
/// alone becomes @predict itself: then there is nothing to differentiate, and the result is false.
bool splitPredict(mlir::func::FuncOp forward);

} // namespace zero::nn

#endif
