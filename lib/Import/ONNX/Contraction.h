//===- Contraction.h - The matrix product that several operators are made of ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_CONTRACTION_H
#define ZERO_LIB_IMPORT_ONNX_CONTRACTION_H

#include "Importer.h"

namespace zero::onnx_import {

/// NumPy's matmul: vectors are matrices for the product's time, batch dimensions broadcast; a diagnostic
/// where they do not fit.
mlir::FailureOr<Tensor> matrixProduct(NodeContext &node, const Tensor &a, const Tensor &b);

/// lhs x rhs over equal batch dimensions (rank at least 2). Integers, which wrap around, are multiplied and
/// summed one by one: the products are never stored.
Tensor product(NodeContext &node, const Tensor &lhs, const Tensor &rhs, bool transposeLhs = false,
               bool transposeRhs = false);

} // namespace zero::onnx_import

#endif
