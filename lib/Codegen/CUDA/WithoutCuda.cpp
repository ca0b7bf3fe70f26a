//===- WithoutCuda.cpp - Of builds that had no CUDA toolkit ---------------===//
#include "zero/Codegen/CudaCodegen.h"

namespace zero {

Expected<CudaCode> compileCuda(std::string, llvm::ArrayRef<std::string>) {
  return Status::wrongUsage("this build has no CUDA backend: configure it where the CUDA 13 toolkit's headers are (ZERO_CUDA=ON says what is missing)");
}

} // namespace zero
