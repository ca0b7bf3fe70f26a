//===- PlanBinary.h - A plan as the file compiled.bin ---------------------===//
#ifndef ZERO_TARGET_PLANBINARY_H
#define ZERO_TARGET_PLANBINARY_H

#include "mlir/IR/BuiltinOps.h"
#include "zero/Analysis/TargetRates.h"
#include "zero/Codegen/CudaCodegen.h"
#include "zero/Container/ModelSkeleton.h"
#include "zero/Runtime/Base/Status.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace zero {

/// The generated kernels of a plan as an ELF shared object for one instruction set.
struct KernelObject {
  CpuVariant variant;
  std::string bytes;
};

/// Writes a plan whose offsets and events are assigned. Weights are read from files named relative to
/// `weightsFolder`, and their checksums are verified, while they are written: memory does not grow with them.
/// `command` is the command that compiled the plan (without --world-size and -o), which messages about
/// recompiling repeat. The error is the caller's to print.
/// `model`, where there is one, goes into the file too. `rates`: what times are predicted from. `cuda`: the code of a plan of target cuda,
/// which has no kernel objects.
Status writePlanBinary(mlir::ModuleOp module, llvm::ArrayRef<KernelObject> kernels,
                       llvm::StringRef weightsFolder, llvm::StringRef path, llvm::StringRef command = "",
                       const ModelSkeleton *model = nullptr, const TargetRates &rates = getTargetRates(), const CudaCode *cuda = nullptr);

/// The trained and frozen tensors of a plan, as the model that it came from may hold them. `modelFile`: that model as
/// `nn.data` names it.
Expected<std::vector<ProgramTensor>> listProgramTensors(mlir::ModuleOp module, llvm::StringRef modelFile);

} // namespace zero

#endif
