//===- UserNames.h - What the user calls the place that something is from -===//
#ifndef ZERO_ANALYSIS_USERNAMES_H
#define ZERO_ANALYSIS_USERNAMES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace zero {

/// The names in a location (ONNX nodes, parameters), in order, each once. None where it holds no name.
llvm::SmallVector<llvm::StringRef> getUserNames(mlir::Location loc);

/// "node_add", "node_add, node_layer_norm", "a, b and 3 more"; FILE:LINE:COLUMN where the location holds no name; empty where
/// it holds neither.
std::string describeUserNames(mlir::Location loc);

} // namespace zero

#endif
