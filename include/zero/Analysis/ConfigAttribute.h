//===- ConfigAttribute.h - Reads the configuration that a module carries --===//
#ifndef ZERO_ANALYSIS_CONFIGATTRIBUTE_H
#define ZERO_ANALYSIS_CONFIGATTRIBUTE_H

#include "mlir/IR/Attributes.h"
#include "llvm/Support/JSON.h"

namespace zero {

/// Dictionaries, arrays, booleans, numbers and strings as JSON; null for any other attribute.
llvm::json::Value convertToJSON(mlir::Attribute attribute);

} // namespace zero

#endif
