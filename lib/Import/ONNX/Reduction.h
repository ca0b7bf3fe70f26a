//===- Reduction.h - What reductions and norms share ----------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_REDUCTION_H
#define ZERO_LIB_IMPORT_ONNX_REDUCTION_H

#include "Importer.h"

namespace zero::onnx_import {

/// How many elements of x one element of a reduction along `axes` combines, in the shape of `like`.
Tensor combinedCount(NodeContext &node, const Tensor &x, llvm::ArrayRef<int64_t> axes, const Tensor &like);

} // namespace zero::onnx_import

#endif
