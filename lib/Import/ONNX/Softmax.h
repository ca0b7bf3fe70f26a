//===- Softmax.h - Log-probabilities --------------------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_SOFTMAX_H
#define ZERO_LIB_IMPORT_ONNX_SOFTMAX_H

#include "Importer.h"

namespace zero::onnx_import {

/// x - max - log(sum(exp(x - max))) along `axis`.
Tensor logSoftmax(NodeContext &node, const Tensor &x, int64_t axis);

} // namespace zero::onnx_import

#endif
