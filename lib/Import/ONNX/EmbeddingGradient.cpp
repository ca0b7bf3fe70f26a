//===- EmbeddingGradient.cpp - Gradients that only the exporter's note tells --===//
//
// ONNX has no word for `padding_idx` of PyTorch's Embedding, whose row gets no gradient from the look-up, nor for `detach`.
// The torch.export-based exporter tells the call that a node came from:
//
//   Gather(w, x), from aten.embedding.default(args = (%p_w, %x, 1))
//       =>  %rows = nn.gather %w[%x]; nn.select (%x == 1), nn.stop_gradient %rows, %rows
//   Identity(x), from aten.detach.default(args = (%x,))  =>  nn.stop_gradient %x
//
//===----------------------------------------------------------------------===//
#include "EmbeddingGradient.h"
#include "ExporterCall.h"
#include "Formula.h"
#include "Graph.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

static bool hasGradient(const NodeContext &node, const Tensor &tensor) {
  return node.trains() && isa<FloatType>(tensor.elementType());
}

FailureOr<Tensor> zero::onnx_import::keepFromPadding(NodeContext &node, const Tensor &data, const Tensor &rows, const Tensor &indices) {
  if (!hasGradient(node, rows))
    return rows;
  FailureOr<std::optional<int64_t>> row = node.paddingRow(data.value);
  if (failed(row))
    return failure();
  if (ExporterCall call = exporterCallOf(*node.node); call.function == "embedding") {
    if (call.argument(3) == "True")
      emitWarning(node.location) << "node '" << node.name() << "' (Gather) was exported from PyTorch's Embedding with scale_grad_by_freq=True, which is not "
                                 << "supported: gradients of a row are added, not averaged";
    uint64_t noted;
    if (!*row && !call.argument(2).getAsInteger(10, noted))
      *row = static_cast<int64_t>(noted);
  }
  if (!*row)
    return rows;
  Formula f(node);
  // Indices come first in the rows' shape: the look-up is along dimension 0.
  Dims shape(indices.shape);
  shape.resize(rows.rank(), Dim(1));
  Tensor isPadding = node.reshape(f.compare(nn::ComparePredicate::eq, indices, static_cast<double>(**row)), shape, {indices});
  return f.select(node.broadcastTo(isPadding, rows.shape, [&] { return node.shapeOf(rows); }), f.unary<nn::StopGradientOp>(rows), rows);
}

FailureOr<std::optional<int64_t>> NodeContext::paddingRow(Value table) { return importer->paddingRow(table); }

FailureOr<std::optional<int64_t>> Importer::paddingRow(Value table) {
  for (const std::unique_ptr<Stored> &entry : storedTensors) {
    if (entry->argument != table || !entry->whyNotTrained.empty())
      continue;
    lookedUp.insert(entry->name);
    auto given = options.paddingRows.find(entry->name);
    if (given == options.paddingRows.end())
      continue;
    const int64_t rows = entry->type.getDimSize(0);
    if (given->second < rows)
      return std::optional(given->second);
    node.error() << "--padding-row=" << entry->name << "=" << given->second << " names no row of '" << entry->name << "', which has " << rows;
    return failure();
  }
  return std::optional<int64_t>();
}

LogicalResult Importer::checkPaddingRows() {
  for (const auto &[name, row] : options.paddingRows)
    if (!lookedUp.contains(name)) {
      SmallVector<StringRef> others(lookedUp.keys());
      llvm::sort(others);
      return emitError(location) << "--padding-row=" << name << "=" << row << " names no trained weight whose rows a Gather looks up"
                                 << (others.empty() ? "" : "; there are: ") << llvm::join(others, ", ");
    }
  return success();
}

Tensor zero::onnx_import::keepDetached(NodeContext &node, const Tensor &tensor) {
  if (!hasGradient(node, tensor) || exporterCallOf(*node.node).function != "detach")
    return tensor;
  return node.unary<nn::StopGradientOp>(tensor);
}
