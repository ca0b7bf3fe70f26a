//===- PaddingRows.cpp - Warns of rows that PyTorch would not train -------===//
//
// ONNX has no word for `padding_idx` of PyTorch's Embedding, whose row gets no gradient from the look-up. The
// torch.export-based exporter tells the call that a Gather came from:
//
//   Gather(w, x), from  aten.embedding.default(args = (%p_w, %x, 1))   =>   warning: row 1 of 'w' is trained
//
//===----------------------------------------------------------------------===//
#include "ExporterCall.h"
#include "Graph.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

void zero::onnx_import::warnOfPaddingRows(const Model &model, ArrayRef<Stored *> parameters, Location location) {
  llvm::StringSet<> trained;
  for (Stored *weight : parameters)
    trained.insert(weight->name);
  std::string text;
  llvm::StringSet<> told;
  for (const onnx::NodeProto &node : model.graph().node()) {
    if (node.op_type() != "Gather" || node.input_size() < 1 || !trained.contains(node.input(0)))
      continue;
    ExporterCall call = exporterCallOf(node);
    uint64_t row;
    if (call.function == "embedding" && !call.argument(2).getAsInteger(10, row) && told.insert(node.input(0)).second)
      text += (Twine(text.empty() ? "row " : ", row ") + Twine(row) + " of '" + node.input(0) + "'").str();
  }
  if (!text.empty())
    emitWarning(location) << "trained, though padding_idx of PyTorch's Embedding keeps it from its gradient: " << text
                          << " (an ONNX file does not hold padding_idx)";
}
