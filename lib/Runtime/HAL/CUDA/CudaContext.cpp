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
  ZERO_CUDA(driver, cuDeviceGetAttribute(&reserves, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  if (!reserves)
    return Status::badInput("GPU " + std::to_string(index) + " (" + context->name + ") cannot map memory by address, which arenas need");
  ZERO_CUDA(driver, cuDevicePrimaryCtxRetain(&context->context, device));
  ZERO_RETURN_IF_ERROR(context->makeCurrent());
  // What the device can do the system may still not allow (containers, WSL 2): then arenas do without.
  context->isMappedByProcesses = processes != 0;
  context->isMappedByNetworkCards = cards != 0;
  for (bool *wanted : {&context->isMappedByProcesses, &context->isMappedByNetworkCards})
    *wanted = *wanted && !context->isMemoryRefused();
  return std::shared_ptr<const CudaContext>(std::move(context));
}

CUmemAllocationProp CudaContext::memoryProperties() const {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, static_cast<int>(index)};
  properties.requestedHandleTypes = isMappedByProcesses ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  properties.allocFlags.gpuDirectRDMACapable = isMappedByNetworkCards;
  return properties;
}

bool CudaContext::isMemoryRefused() const {
  const CUmemAllocationProp properties = memoryProperties();
  size_t granule = 0;
  CUmemGenericAllocationHandle memory = 0;
  CUresult result = driver.cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (result == CUDA_SUCCESS)
    result = driver.cuMemCreate(&memory, granule, &properties, 0);
  if (result == CUDA_SUCCESS)
    driver.cuMemRelease(memory);
  // Other errors are those of the first arena, which says what it is about.
  return result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_ERROR_NOT_SUPPORTED;
}

CudaContext::~CudaContext() {
  if (context && !isAbandoned())
    driver.cuDevicePrimaryCtxRelease(device); // an error at the end has nobody to tell
}

} // namespace zero
