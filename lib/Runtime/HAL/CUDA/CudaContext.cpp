//===- CudaContext.cpp - A GPU as this process uses it --------------------===//
#include "lib/Runtime/HAL/CUDA/CudaContext.h"

namespace zero {

Expected<std::shared_ptr<const CudaContext>> CudaContext::retain(const Driver &driver, unsigned index) {
  CUdevice device = 0;
  ZERO_CUDA(driver, cuDeviceGet(&device, static_cast<int>(index)));
  std::shared_ptr<CudaContext> context(new CudaContext(driver, index, device));
  char name[256] = "";
  ZERO_CUDA(driver, cuDeviceGetName(name, sizeof name, device));
  context->name = name;
  ZERO_CUDA(driver, cuDeviceGetAttribute(&context->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  ZERO_CUDA(driver, cuDeviceGetAttribute(&context->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  int reserves = 0, mapped = 0;
  ZERO_CUDA(driver, cuDeviceGetAttribute(&mapped, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device));
  context->isMappedByNetworkCards = mapped != 0;
  ZERO_CUDA(driver, cuDeviceGetAttribute(&reserves, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  if (!reserves)
    return Status::badInput("GPU " + std::to_string(index) + " (" + context->name + ") cannot map memory by address, which arenas need");
  ZERO_CUDA(driver, cuDevicePrimaryCtxRetain(&context->context, device));
  ZERO_RETURN_IF_ERROR(context->makeCurrent());
  return std::shared_ptr<const CudaContext>(std::move(context));
}

CudaContext::~CudaContext() {
  if (context)
    driver.cuDevicePrimaryCtxRelease(device); // an error at the end has nobody to tell
}

} // namespace zero
