//===- Softmax.h - Log-probabilities --------------------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_SOFTMAX_H
#define ZERO_LIB_IMPORT_ONNX_SOFTMAX_H

#include "Importer.h"

namespace zero::onnx_import {

/// x - max - log(sum(exp(x - max))) along `axis`.
Tensor logSoftmax(NodeContext &node, const Tensor &x, int64_t axis);

/// The rows of a node that works along `axis`: before opset 13 all dimensions from there on were one row.
struct Rows {
  Tensor x, rows; ///< as given, and what to work on
  int64_t axis;   ///< of `rows`
};
mlir::FailureOr<Rows> readRows(NodeContext &node);

} // namespace zero::onnx_import

#endif
