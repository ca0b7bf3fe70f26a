//===- Diagnostics.h - Diagnostics in the words of an ONNX user -----------===//
#ifndef ZERO_IMPORT_DIAGNOSTICS_H
#define ZERO_IMPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace zero {

/// Prints the diagnostics of `context` to stderr as `TOOL: error: at 'NODE': text`, with their notes. The
/// node is the ONNX node that the operation comes from, left out where the text names it already.
void printDiagnosticsAs(llvm::StringRef tool, mlir::MLIRContext &context);

} // namespace zero

#endif
