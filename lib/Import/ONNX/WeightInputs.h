//===- WeightInputs.h - Graph inputs that are weights ---------------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_WEIGHTINPUTS_H
#define ZERO_LIB_IMPORT_ONNX_WEIGHTINPUTS_H

#include "Model.h"
#include "zero/Import/ONNX.h"

namespace zero::onnx_import {

/// Makes every float input that a regular expression of --init names an initializer without values: models
/// that were exported without parameters have them as inputs. One whose shape is not known is a diagnostic.
mlir::LogicalResult adoptWeightInputs(Model &model, const ImportOptions &options, mlir::Location location);

} // namespace zero::onnx_import

#endif
