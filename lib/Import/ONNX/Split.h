//===- Split.h - Cutting a tensor into parts and joining them, for tensors and sequences ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_SPLIT_H
#define ZERO_LIB_IMPORT_ONNX_SPLIT_H

#include "Importer.h"

namespace zero::onnx_import {

/// Consecutive parts of the given sizes along `axis`; a diagnostic if they do not add up to its static size.
mlir::FailureOr<llvm::SmallVector<Tensor, 1>> splitTensor(NodeContext &node, const Tensor &x, int64_t axis,
                                                          llvm::ArrayRef<int64_t> sizes);

/// The parts, at least one, joined along `axis`; a diagnostic if they do not fit.
mlir::FailureOr<Tensor> joinTensors(NodeContext &node, llvm::ArrayRef<Tensor> parts, int64_t axis);

} // namespace zero::onnx_import

#endif
