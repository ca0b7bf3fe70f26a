//===- RowOrder.h - Whether the rows of a flattened tensor go sample by sample ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_ROWORDER_H
#define ZERO_LIB_IMPORT_ONNX_ROWORDER_H

#include "mlir/IR/Value.h"

namespace zero::onnx_import {

/// Follows the first dimension of `rows` back to where a reshape joined a batch (of `batch` samples, or of
/// unknown size) with `perSample` rows of each sample, in this order. False where it was joined in another
/// order, or it cannot be told.
bool rowsFollowSamples(mlir::Value rows, int64_t batch, int64_t perSample);

} // namespace zero::onnx_import

#endif
