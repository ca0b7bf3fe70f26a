//===- NoCudaDevice.cpp - A build without the CUDA backend ----------------===//
#include "zero/Runtime/HAL/Stream.h"

namespace zero {

static Status noCuda() {
  return Status::badInput("this build has no CUDA: it was configured where the toolkit's headers were not found, or with ZERO_CUDA=OFF");
}

Expected<std::vector<std::string>> findCudaDevices() { return noCuda(); }

Expected<std::unique_ptr<StreamDevice>> createCudaDevice(unsigned, const CudaDeviceOptions &) { return noCuda(); }

} // namespace zero
