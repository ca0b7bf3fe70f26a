//===- NoCudaCommands.cpp - A build without the CUDA backend --------------===//
#include "lib/Runtime/Executor/CudaCommands.h"

namespace zero {

Expected<std::unique_ptr<DeviceCommands>> createCudaCommands(StreamDevice &, StreamComm) {
  return Status::badInput("this build has no CUDA"); // and no device of CUDA's that could be given
}

} // namespace zero
