//===- Quantization.h - Rounding to integers of few bits ------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_QUANTIZATION_H
#define ZERO_LIB_IMPORT_ONNX_QUANTIZATION_H

#include "Importer.h"

namespace zero::onnx_import {

/// A diagnostic unless `element` is i8, ui8, i16 or ui16.
mlir::LogicalResult checkQuantized(NodeContext &node, mlir::Type element);

/// round(x) + zero, halves to even, cut to the range of `element`. All have one shape.
Tensor quantizeRounded(NodeContext &node, const Tensor &x, std::optional<Tensor> zero, mlir::Type element);

} // namespace zero::onnx_import

#endif
