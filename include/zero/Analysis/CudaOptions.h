//===- CudaOptions.h - How the kernels of a plan compute on GPUs ----------===//
#ifndef ZERO_ANALYSIS_CUDAOPTIONS_H
#define ZERO_ANALYSIS_CUDAOPTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "zero/Runtime/Kernels/CudaKernels.h"

namespace zero {

/// What kernels of a program of target cuda depend on besides their numbers, as the attributes of its module (dialects/Plan) say it.
CudaOptions getCudaOptions(mlir::ModuleOp module);

/// Whether products of the module do more before they are stored (nn-fuse-epilogues).
bool fusesEpilogues(mlir::ModuleOp module);

} // namespace zero

#endif
