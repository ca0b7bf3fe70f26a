//===- EmitCudaKernels.h - Writes all kernels of a plan as CUDA C++ -------===//
#ifndef ZERO_LIB_CODEGEN_EMITCUDAKERNELS_H
#define ZERO_LIB_CODEGEN_EMITCUDAKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "zero/Runtime/Base/Status.h"
#include <string>

namespace zero {

/// A function for each `plan.kernel` of the plan, which stand behind lib/Codegen/CUDA/Prelude.cuh.
Expected<std::string> emitCudaKernels(mlir::ModuleOp plan);

} // namespace zero

#endif
