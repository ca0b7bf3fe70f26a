//===- LocalFunctions.h - Model-local functions --------------------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_LOCALFUNCTIONS_H
#define ZERO_LIB_IMPORT_ONNX_LOCALFUNCTIONS_H

#include "Model.h"

namespace zero::onnx_import {

/// Replaces every call of a function of the model by the function's nodes, in subgraphs too. Names of nodes
/// and values get the call's in front. Recursion is a diagnostic that names the cycle.
mlir::LogicalResult inlineFunctions(Model &model, mlir::Location location);

} // namespace zero::onnx_import

#endif
