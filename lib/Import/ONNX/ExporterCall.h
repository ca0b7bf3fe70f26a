//===- ExporterCall.h - The PyTorch call that a node was exported from ----===//
#ifndef ZERO_LIB_IMPORT_ONNX_EXPORTERCALL_H
#define ZERO_LIB_IMPORT_ONNX_EXPORTERCALL_H

#include "Model.h"

#include "llvm/ADT/SmallVector.h"

namespace zero::onnx_import {

class NodeContext;

/// What the torch.export-based exporter keeps of it in the node's metadata, as
///   %embedding : [num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%p_w, %x, 1), kwargs = {})
struct ExporterCall {
  llvm::StringRef function;                       // "embedding"
  llvm::SmallVector<llvm::StringRef> arguments;   // by place: "%p_w", "%x", "1", "[2, 2]"

  /// The argument, or an empty string where the call has fewer.
  llvm::StringRef argument(size_t index) const { return index < arguments.size() ? arguments[index] : llvm::StringRef(); }
};

/// No function where the model does not tell; views of the node's metadata.
ExporterCall exporterCallOf(const onnx::NodeProto &node);

/// Says that the node stands in the file without `what`, and is trained with `argument` of the call, as "label_smoothing=0.1".
void warnOfDroppedArgument(const NodeContext &node, llvm::StringRef what, const llvm::Twine &argument);

} // namespace zero::onnx_import

#endif
