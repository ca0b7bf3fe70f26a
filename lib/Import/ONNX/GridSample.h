//===- GridSample.h - Reading a plane or volume between its elements ------===//
#ifndef ZERO_LIB_IMPORT_ONNX_GRIDSAMPLE_H
#define ZERO_LIB_IMPORT_ONNX_GRIDSAMPLE_H

#include "Importer.h"

namespace zero::onnx_import {

// The builders of these operators.
mlir::LogicalResult buildAffineGrid(NodeContext &node);
mlir::LogicalResult buildGridSample(NodeContext &node);

} // namespace zero::onnx_import

#endif
