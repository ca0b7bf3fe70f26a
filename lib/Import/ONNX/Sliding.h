//===- Sliding.h - How windows slide, as convolution and pooling nodes say it ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_SLIDING_H
#define ZERO_LIB_IMPORT_ONNX_SLIDING_H

#include "Importer.h"

namespace zero::onnx_import {

/// One entry for each spatial dimension; `positions` are the result's sizes.
struct Sliding {
  llvm::SmallVector<int64_t> window, strides, low, high, dilations, positions;

  /// Last element that a window reads, counted from its first.
  int64_t reach(size_t i) const { return dilations[i] * (window[i] - 1); }
};

/// The sizes behind batch and channels; a diagnostic where channels or one of them is not known, or their
/// number is not 1 to 3.
mlir::FailureOr<llvm::SmallVector<int64_t>> spatialSizes(NodeContext &node, const Tensor &x);

/// Strides and dilations of a node, and its pads or none where `auto_pad` says them; checked, with defaults.
mlir::FailureOr<Sliding> slidingAttributes(NodeContext &node, llvm::ArrayRef<int64_t> window);

/// The same with pads and positions over `spatial`; `ceil`: a last window that reaches beyond the padded data
/// counts if it begins in the data or before it.
mlir::FailureOr<Sliding> slide(NodeContext &node, llvm::ArrayRef<int64_t> spatial,
                               llvm::ArrayRef<int64_t> window, bool ceil = false);

/// `kernel_shape`, with as many entries as there are spatial dimensions.
mlir::FailureOr<llvm::SmallVector<int64_t>> windowAttribute(NodeContext &node, size_t spatialDims);

/// x's batch, then these sizes.
Dims withBatch(const Tensor &x, llvm::ArrayRef<int64_t> sizes);

/// A vector with one element for each channel, repeated to the shape of `like`.
Tensor alongChannels(NodeContext &node, const Tensor &vector, const Tensor &like);

} // namespace zero::onnx_import

#endif
