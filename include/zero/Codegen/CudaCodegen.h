//===- CudaCodegen.h - Machine code of a plan's kernels for GPUs ----------===//
#ifndef ZERO_CODEGEN_CUDACODEGEN_H
#define ZERO_CODEGEN_CUDACODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "zero/Runtime/Base/Status.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace zero {

/// What the program is compiled for where nothing else is asked; the last also as PTX, for what comes after it.
inline constexpr llvm::StringLiteral kCudaArchitectures[] = {"sm_80", "sm_90", "sm_100"};

/// The text of lib/Codegen/CUDA/Prelude.cuh, which stands first in every source.
llvm::StringRef getCudaPrelude();

/// The CUDA C++ of a plan of target cuda, as NVRTC gets it: the prelude, the library's kernels that the plan runs, the generated
/// ones. ProgramFailed naming a kernel that there is no code for.
Expected<std::string> makeCudaSource(mlir::ModuleOp plan);

/// What a kernel takes on one architecture, as the assembler says.
struct CudaKernelUse {
  std::string kernel, architecture;
  int64_t registers = 0;   ///< of a thread
  int64_t spillBytes = 0;  ///< stored and loaded by a thread because registers did not suffice
  int64_t localBytes = 0;  ///< of a thread's stack
  int64_t sharedBytes = 0; ///< static ones of a block
};

/// The code for one architecture: a cubin ("sm_90") or PTX ("compute_100").
struct CudaImage {
  std::string label, bytes;
  bool isPtx = false;
};

struct CudaCode {
  std::string source;
  std::vector<CudaImage> images;
  /// None where the assembler told nothing (a simulated one does not).
  std::vector<CudaKernelUse> uses;
};

/// Compiles the source by NVRTC, which is loaded now (ZERO_CUDA_LIBRARY_PATH): a cubin for each architecture ("sm_90"), and PTX of the
/// last. WrongUsage where this build has no CUDA backend; BadInput where there is no NVRTC or it does not know an architecture.
Expected<CudaCode> compileCuda(std::string source, llvm::ArrayRef<std::string> architectures);

/// {"kernels": [{"kernel", "architecture", "registers", "spill_bytes", "local_bytes", "shared_bytes"}]}, or {"kernels": null} where nothing is
/// known.
void writeCudaReport(const CudaCode &code, llvm::raw_ostream &os);

} // namespace zero

#endif
