//===- BoundInputs.h - Graph inputs that become constants -----------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_BOUNDINPUTS_H
#define ZERO_LIB_IMPORT_ONNX_BOUNDINPUTS_H

#include "Model.h"
#include "zero/Import/ONNX.h"

namespace zero::onnx_import {

/// Makes every input that the options bind an initializer of the model. The sizes that the data give to the
/// symbols of those inputs are added to `dims`.
mlir::LogicalResult bindInputs(Model &model, const ImportOptions &options, llvm::StringMap<int64_t> &dims,
                               mlir::Location location);

} // namespace zero::onnx_import

#endif
