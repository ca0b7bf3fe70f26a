//===- CudaArena.cpp - Memory of a GPU, reserved once ---------------------===//
#include "lib/Runtime/HAL/CUDA/CudaArena.h"

namespace zero {

Expected<std::unique_ptr<CudaArena>> CudaArena::allocate(std::shared_ptr<const CudaContext> context, const std::string &name, uint64_t size) {
  const Driver &driver = context->driver;
  std::unique_ptr<CudaArena> arena(new CudaArena(context, size));
  if (size == 0)
    return arena;
  size_t free = 0, total = 0;
  ZERO_CUDA(driver, cuMemGetInfo(&free, &total));
  Status mapped = arena->map();
  // The driver may find room where it said there is less: its word counts when it finds none.
  if (!mapped.ok())
    return Status::programFailed("arena '" + name + "' of " + std::to_string(size) + " bytes does not fit: GPU " +
                                 std::to_string(context->index) + " (" + context->name + ") has " + std::to_string(free) + " of " +
                                 std::to_string(total) + " bytes free (" + mapped.message() + ")");
  return arena;
}

Status CudaArena::map() {
  const Driver &driver = context->driver;
  const CUmemAllocationProp properties = context->memoryProperties();
  size_t granule = 0;
  ZERO_CUDA(driver, cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  reserved = (bytes + granule - 1) / granule * granule;
  ZERO_CUDA(driver, cuMemCreate(&memory, reserved, &properties, 0));
  isCreated = true;
  ZERO_CUDA(driver, cuMemAddressReserve(&base, reserved, 0, 0, 0));
  ZERO_CUDA(driver, cuMemMap(base, reserved, 0, memory, 0));
  isMapped = true;
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ZERO_CUDA(driver, cuMemSetAccess(base, reserved, &access, 1));
  return {};
}

CudaArena::~CudaArena() {
  // Errors at the end have nobody to tell.
  const Driver &driver = context->driver;
  if (context->isAbandoned())
    return;
  if (isMapped)
    driver.cuMemUnmap(base, reserved);
  if (base)
    driver.cuMemAddressFree(base, reserved);
  if (isCreated)
    driver.cuMemRelease(memory);
}

Expected<std::unique_ptr<CudaPinnedMemory>> CudaPinnedMemory::allocate(std::shared_ptr<const CudaContext> context, uint64_t size) {
  void *base = nullptr;
  const Driver &driver = context->driver;
  if (size)
    if (Status status = driver.check(driver.cuMemHostAlloc(&base, size, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc"); !status.ok())
      return Status::programFailed(std::to_string(size) + " bytes of pinned memory are not to be had: " + status.message());
  return std::unique_ptr<CudaPinnedMemory>(new CudaPinnedMemory(std::move(context), base, size));
}

CudaPinnedMemory::~CudaPinnedMemory() {
  if (base && !context->isAbandoned())
    context->driver.cuMemFreeHost(base);
}

} // namespace zero
