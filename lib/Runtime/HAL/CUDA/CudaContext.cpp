//===- CudaContext.cpp - A GPU as this process uses it --------------------===//
#include "lib/Runtime/HAL/CUDA/CudaContext.h"

namespace zero {

Expected<std::shared_ptr<const CudaContext>> CudaContext::retain(const Driver &driver, unsigned index, bool mappedByPeers) {
  CUdevice device = 0;
  ZERO_CUDA(driver, cuDeviceGet(&device, static_cast<int>(index)));
  std::shared_ptr<CudaContext> context(new CudaContext(driver, index, device));
  char name[256] = "";
  ZERO_CUDA(driver, cuDeviceGetName(name, sizeof name, device));
  context->name = name;
  ZERO_CUDA(driver, cuDeviceGetAttribute(&context->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  ZERO_CUDA(driver, cuDeviceGetAttribute(&context->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  int reserves = 0, processes = 0, cards = 0;
  if (mappedByPeers) { // not every system can (WSL 2), and what is not wanted is not asked for
    ZERO_CUDA(driver, cuDeviceGetAttribute(&processes, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device));
    ZERO_CUDA(driver, cuDeviceGetAttribute(&cards, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device));
  }
  context->isMappedByProcesses = processes != 0;
  context->isMappedByNetworkCards = cards != 0;
  ZERO_CUDA(driver, cuDeviceGetAttribute(&reserves, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  if (!reserves)
    return Status::badInput("GPU " + std::to_string(index) + " (" + context->name + ") cannot map memory by address, which arenas need");
  ZERO_CUDA(driver, cuDevicePrimaryCtxRetain(&context->context, device));
  ZERO_RETURN_IF_ERROR(context->makeCurrent());
  return std::shared_ptr<const CudaContext>(std::move(context));
}

CudaContext::~CudaContext() {
  if (context && !isAbandoned())
    driver.cuDevicePrimaryCtxRelease(device); // an error at the end has nobody to tell
}

} // namespace zero
