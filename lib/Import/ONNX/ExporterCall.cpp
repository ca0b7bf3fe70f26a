//===- ExporterCall.cpp - The PyTorch call that a node was exported from --===//
#include "ExporterCall.h"

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
    StringRef(operands.split(')').first).split(call.arguments, ',');
    for (StringRef &argument : call.arguments)
      argument = argument.trim();
  }
  return call;
}
