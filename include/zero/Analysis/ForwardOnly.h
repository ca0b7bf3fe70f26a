//===- ForwardOnly.h - Modules that predict and train nothing -------------===//
#ifndef ZERO_ANALYSIS_FORWARDONLY_H
#define ZERO_ANALYSIS_FORWARDONLY_H

#include "mlir/IR/BuiltinOps.h"

namespace zero {

/// Whether the module (of any phase) was made without a loss: it has outputs and nothing to minimise.
bool isForwardOnly(mlir::ModuleOp module);

} // namespace zero

#endif
