//===- ExportSignature.h - What PyTorch trained, as its exporter tells ----===//
#ifndef ZERO_LIB_IMPORT_ONNX_EXPORTSIGNATURE_H
#define ZERO_LIB_IMPORT_ONNX_EXPORTSIGNATURE_H

#include "Model.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace zero::onnx_import {

/// The signature of the exported program, which the torch.export-based exporter writes into the model: the names of all
/// parameters, also of those that its optimizer computed with and left out (ExportSignature.cpp).
class ExportSignature {
public:
  explicit ExportSignature(const onnx::GraphProto &graph);
  /// The parameters in whose place the initializer stands, as "'a.weight', 'b.weight'"; empty if none are known.
  /// `readers` are the nodes that read it.
  std::string replacedBy(llvm::StringRef initializer, llvm::ArrayRef<const onnx::NodeProto *> readers) const;

private:
  llvm::StringMap<std::string> targets; // parameters by their placeholders in the exported program
  llvm::StringSet<> names;              // of parameters
  llvm::StringSet<> present;            // what the model still has
};

} // namespace zero::onnx_import

#endif
