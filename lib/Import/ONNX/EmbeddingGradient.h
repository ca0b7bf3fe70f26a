//===- EmbeddingGradient.h - Gradients that only the exporter's note tells --===//
#ifndef ZERO_LIB_IMPORT_ONNX_EMBEDDINGGRADIENT_H
#define ZERO_LIB_IMPORT_ONNX_EMBEDDINGGRADIENT_H

#include "Importer.h"

namespace zero::onnx_import {

/// `rows` = data[indices ++ ..] of a Gather along dimension 0: the same, without a gradient where the index is the padding_idx of
/// the Embedding that the node was exported from, or which the options give.
mlir::FailureOr<Tensor> keepFromPadding(NodeContext &node, const Tensor &data, const Tensor &rows, const Tensor &indices);

/// What an Identity gives: without a gradient where it was exported from `detach`.
Tensor keepDetached(NodeContext &node, const Tensor &tensor);

} // namespace zero::onnx_import

#endif
