//===- Contraction.h - The matrix product that several operators are made of ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_CONTRACTION_H
#define ZERO_LIB_IMPORT_ONNX_CONTRACTION_H

#include "Importer.h"

namespace zero::onnx_import {

/// NumPy's matmul of floats: vectors are matrices for the product's time, batch dimensions broadcast; a
/// diagnostic where they do not fit.
mlir::FailureOr<Tensor> matrixProduct(NodeContext &node, const Tensor &a, const Tensor &b);

} // namespace zero::onnx_import

#endif
