//===- CudaCommands.h - Commands on a GPU ---------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_CUDACOMMANDS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_CUDACOMMANDS_H

#include "lib/Runtime/Executor/Commands.h"
#include "zero/Runtime/HAL/Stream.h"

namespace zero {

/// `device` outlives them. BadInput where this build has no CUDA.
Expected<std::unique_ptr<DeviceCommands>> createCudaCommands(StreamDevice &device, StreamComm comm);

} // namespace zero

#endif
