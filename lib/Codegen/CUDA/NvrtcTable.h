//===- NvrtcTable.h - NVRTC behind a table of functions -------------------===//
//
// Loaded by whoever compiles for CUDA, and by nobody else.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CODEGEN_CUDA_NVRTCTABLE_H
#define ZERO_LIB_CODEGEN_CUDA_NVRTCTABLE_H

#include "zero/Runtime/Base/Status.h"
#include <nvrtc.h>

namespace zero {

#define ZERO_NVRTC_FUNCTIONS(X)                                                                                                                          \
  X(nvrtcGetErrorString)                                                                                                                                 \
  X(nvrtcCreateProgram)                                                                                                                                  \
  X(nvrtcDestroyProgram)                                                                                                                                 \
  X(nvrtcCompileProgram)                                                                                                                                 \
  X(nvrtcGetProgramLogSize)                                                                                                                              \
  X(nvrtcGetProgramLog)                                                                                                                                  \
  X(nvrtcGetCUBINSize)                                                                                                                                   \
  X(nvrtcGetCUBIN)                                                                                                                                       \
  X(nvrtcGetPTXSize)                                                                                                                                     \
  X(nvrtcGetPTX)

struct NvrtcTable {
#define ZERO_DECLARE(name) decltype(&::name) name = nullptr;
  ZERO_NVRTC_FUNCTIONS(ZERO_DECLARE)
#undef ZERO_DECLARE

  /// Loaded once; BadInput naming the library, or a function that it lacks.
  static Expected<const NvrtcTable *> get();
};

} // namespace zero

#endif
