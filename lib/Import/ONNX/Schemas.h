//===- Schemas.h - What a node of an operator may look like ---------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_SCHEMAS_H
#define ZERO_LIB_IMPORT_ONNX_SCHEMAS_H

#include "Importer.h"

namespace zero::onnx_import {

/// Checks the node at work against its operator's version: the numbers of inputs and outputs, and that every
/// attribute is known, given once and of its type, and every required one there. Builders rely on it.
mlir::LogicalResult checkSchema(NodeContext &node);

} // namespace zero::onnx_import

#endif
