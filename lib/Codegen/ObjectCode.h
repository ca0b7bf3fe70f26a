//===- ObjectCode.h - From MLIR to an ELF shared object -------------------===//
#ifndef ZERO_LIB_CODEGEN_OBJECTCODE_H
#define ZERO_LIB_CODEGEN_OBJECTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "zero/Runtime/Base/Status.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include <string>

namespace zero {

/// Lowers a module of func, scf, arith, math, vector and llvm ops, in place, and compiles it to an ELF object
/// file.
Expected<std::string> compileObject(mlir::ModuleOp module, CpuVariant variant);

/// Links one object file to a shared object without dependencies; an undefined symbol is an error.
Expected<std::string> linkSharedObject(const std::string &object);

} // namespace zero

#endif
