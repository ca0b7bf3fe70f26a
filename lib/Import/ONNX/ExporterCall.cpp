//===- ExporterCall.cpp - The PyTorch call that a node was exported from --===//
#include "ExporterCall.h"
#include "Importer.h"

using namespace llvm;
using namespace zero;
using namespace zero::onnx_import;

ExporterCall zero::onnx_import::exporterCallOf(const onnx::NodeProto &node) {
  ExporterCall call;
  for (const onnx::StringStringEntryProto &property : node.metadata_props()) {
    StringRef text = property.value();
    if (property.key() != "pkg.torch.onnx.fx_node" || !text.starts_with("%"))
      continue;
    auto [target, operands] = text.split("[target=torch.ops.aten.").second.split("](args = (");
    call.function = target.split('.').first;
    for (StringRef rest = operands.split(')').first; !rest.empty();) {
      size_t end = rest.starts_with("[") ? rest.find(',', rest.find(']')) : rest.find(',');
      call.arguments.push_back(rest.take_front(end).trim());
      rest = rest.substr(end).drop_front(end < rest.size()).ltrim();
    }
  }
  return call;
}

void zero::onnx_import::warnOfDroppedArgument(const NodeContext &node, StringRef what, const Twine &argument) {
  mlir::emitWarning(node.location) << "node '" << node.name() << "' (" << node.node->op_type() << ") stands in the file without " << what
                                   << ", but the exporter notes that PyTorch called it with " << argument << ", which is trained with";
}
