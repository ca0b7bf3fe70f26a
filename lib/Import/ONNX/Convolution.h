//===- Convolution.h - The convolution that several operators are made of ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_CONVOLUTION_H
#define ZERO_LIB_IMPORT_ONNX_CONVOLUTION_H

#include "Importer.h"

namespace zero::onnx_import {

/// x convolved with w as the node's attributes say; a diagnostic where they do not fit.
mlir::FailureOr<Tensor> convolution(NodeContext &node, const Tensor &x, const Tensor &w);

} // namespace zero::onnx_import

#endif
