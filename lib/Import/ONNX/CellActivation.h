//===- CellActivation.h - The activations inside recurrent operators ------===//
#ifndef ZERO_LIB_IMPORT_ONNX_CELLACTIVATION_H
#define ZERO_LIB_IMPORT_ONNX_CELLACTIVATION_H

#include "Importer.h"

namespace zero::onnx_import {

/// One activation of the list that LSTM, GRU and RNN share.
struct CellActivation {
  enum class Kind {
    Sigmoid,
    Tanh,
    Relu,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
  };
  Kind kind;
  double alpha = 0, beta = 0;

  Tensor operator()(GraphBuilder &builder, const Tensor &x) const;
};

/// The activations of a node: `names` if it lists none, for each of `directions`. Alphas and betas are taken
/// from their lists by those that have one, in order; a diagnostic if a name or a number is wrong.
mlir::FailureOr<llvm::SmallVector<CellActivation>>
readActivations(NodeContext &node, llvm::ArrayRef<llvm::StringRef> names, int64_t directions);

} // namespace zero::onnx_import

#endif
