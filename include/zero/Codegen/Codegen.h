//===- Codegen.h - Object code for the generated kernels of a plan --------===//
#ifndef ZERO_CODEGEN_CODEGEN_H
#define ZERO_CODEGEN_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Runtime/Base/Status.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include <string>

namespace zero {

/// Compiles every `plan.kernel` of the module for one instruction set. Returns the bytes of an ELF shared
/// object that depends on nothing and exports, for each kernel @K, `void K(void *const *pointers, int64_t
/// begin, int64_t end)`: pointers = operands then results of the body function, [begin, end) a range of the
/// kernel's items. How a caller cuts the items into ranges changes no bit of a result.
Expected<std::string> compileKernels(mlir::ModuleOp module, CpuVariant variant);

} // namespace zero

#endif
