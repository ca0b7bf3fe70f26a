//===- AssemblerLog.h - What kernels take, in the assembler's words -------===//
#ifndef ZERO_LIB_CODEGEN_CUDA_ASSEMBLERLOG_H
#define ZERO_LIB_CODEGEN_CUDA_ASSEMBLERLOG_H

#include "zero/Codegen/CudaCodegen.h"

namespace zero {

/// Reads what `ptxas -v` says of each kernel:
///
///   ptxas info    : Compiling entry function 'k' for 'sm_90'
///   ptxas info    : Function properties for k
///       16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
///   ptxas info    : Used 30 registers, used 1 barriers, 16 bytes cumulative stack size, 2048 bytes smem
std::vector<CudaKernelUse> parseAssemblerLog(llvm::StringRef log, llvm::StringRef architecture);

} // namespace zero

#endif
