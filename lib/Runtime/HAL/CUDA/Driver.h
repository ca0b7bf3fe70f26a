//===- Driver.h - The driver of CUDA, loaded at run time ------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CUDA_DRIVER_H
#define ZERO_LIB_RUNTIME_HAL_CUDA_DRIVER_H

#include "zero/Runtime/Base/Status.h"
#include <cuda.h>

namespace zero {

/// The functions of the driver under their own names.
struct Driver {
#define ZERO_DRIVER_FUNCTION(name) decltype(&::name) name = nullptr;
#include "lib/Runtime/HAL/CUDA/DriverFunctions.inc"

  /// Loads it at the first call; the outcome stays. BadInput where there is none, it is too old, or it does not start.
  static Expected<const Driver *> get();

  /// Success, or ProgramFailed with the driver's words: "cuMemCreate: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  Status check(CUresult result, const char *function) const;
};

} // namespace zero

/// Returns the error of a call of the driver from the enclosing function: ZERO_CUDA(driver, cuMemUnmap(base, size)).
#define ZERO_CUDA(driver, call) ZERO_RETURN_IF_ERROR((driver).check((driver).call, #call))

#endif
