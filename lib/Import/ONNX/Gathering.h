//===- Gathering.h - Reading a dimension by a list of positions -----------===//
#ifndef ZERO_LIB_IMPORT_ONNX_GATHERING_H
#define ZERO_LIB_IMPORT_ONNX_GATHERING_H

#include "Importer.h"

namespace zero::onnx_import {

/// Element positions[i] of x along `axis` becomes element i. Positions are known and inside; where they run
/// on, or repeat each element equally often, this is a slice or a broadcast and not a gather.
Tensor readPositions(NodeContext &node, const Tensor &x, int64_t axis, llvm::ArrayRef<int64_t> positions);

/// One number for each position of dimension `axis`, in x's shape and the element type given.
Tensor alongAxis(NodeContext &node, const Tensor &x, int64_t axis, llvm::ArrayRef<double> numbers,
                 mlir::Type element);

} // namespace zero::onnx_import

#endif
