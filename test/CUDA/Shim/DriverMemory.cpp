//===- DriverMemory.cpp - Memory, copies and fills ------------------------===//
#include "test/CUDA/Shim/Context.h"
#include "test/CUDA/Shim/Memory.h"
#include "test/CUDA/Shim/Module.h"
#include "test/CUDA/Shim/Statistics.h"
#include <cstring>

using namespace zero::shim;

namespace {

/// One side of a copy.
struct Side {
  const void *address;
  bool isDevice;
};

CUresult checkHost(const char *call, const void *address, uint64_t bytes, HostMemory::Kind &kind, CUresult code) {
  if (DeviceMemory::get().reserves(address))
    return misuse(code, call, text(hex(address), " is device memory, given as the host's"));
  kind = HostMemory::get().kindOf(address, bytes);
  if (kind == HostMemory::Kind::Freed)
    return misuse(code, call, text("pinned memory at ", hex(address), " was freed"));
  if (kind == HostMemory::Kind::Straddling)
    return misuse(code, call, text(bytes, " bytes at ", hex(address), " reach past the end of pinned memory"));
  return CUDA_SUCCESS;
}

/// Finds one side; `place` is where the bytes can be touched.
CUresult resolve(const char *call, const Side &side, uint64_t bytes, int device, Access access, CUresult code, std::byte *&place,
                 HostMemory::Kind &kind) {
  if (!side.isDevice) {
    place = static_cast<std::byte *>(const_cast<void *>(side.address));
    return checkHost(call, side.address, bytes, kind, code);
  }
  kind = HostMemory::Kind::Pinned;
  Place found = DeviceMemory::get().find(side.address, bytes, device, access);
  place = found.alias;
  return found.fault.empty() ? CUDA_SUCCESS : misuse(code, call, found.fault);
}

CUresult copy(const char *call, const Side &to, const Side &from, uint64_t bytes, int device, CUresult code) {
  std::byte *target, *source;
  HostMemory::Kind kind;
  if (CUresult error = resolve(call, to, bytes, device, Access::Write, code, target, kind))
    return error;
  if (CUresult error = resolve(call, from, bytes, device, Access::Read, code, source, kind))
    return error;
  std::memcpy(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult enqueueCopy(const char *call, const Side &to, const Side &from, uint64_t bytes, CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = enterStream(call, handle, stream))
    return error;
  if (!bytes)
    return CUDA_SUCCESS;
  const int device = stream->context.device;
  std::byte *target, *source;
  HostMemory::Kind toKind, fromKind;
  if (CUresult error = resolve(call, to, bytes, device, Access::Write, CUDA_ERROR_INVALID_VALUE, target, toKind))
    return error;
  if (CUresult error = resolve(call, from, bytes, device, Access::Read, CUDA_ERROR_INVALID_VALUE, source, fromKind))
    return error;
  if (to.isDevice && from.isDevice && to.address < static_cast<const std::byte *>(from.address) + bytes &&
      from.address < static_cast<const std::byte *>(to.address) + bytes)
    return misuse(CUDA_ERROR_INVALID_VALUE, call, text("target ", hex(to.address), " and source ", hex(from.address), " of ", bytes, " bytes overlap"));

  const bool isPageable = toKind == HostMemory::Kind::Pageable || fromKind == HostMemory::Kind::Pageable;
  std::unique_lock lock(stream->context.mutex);
  if (isPageable && stream->capture)
    return misuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call, text(hex(to.isDevice ? from.address : to.address), " is pageable memory: a graph cannot hold the copy"));
  if (isPageable && to.isDevice) {
    ++Statistics::get().pageableUploads;
    // The source is read before the call returns.
    auto staged = std::make_shared<std::vector<std::byte>>(source, source + bytes);
    stream->submit(call, [=, name = std::string(call)] {
      std::byte *target;
      HostMemory::Kind kind;
      if (CUresult error = resolve(name.c_str(), to, bytes, device, Access::Write, CUDA_ERROR_ILLEGAL_ADDRESS, target, kind))
        return error;
      std::memcpy(target, staged->data(), bytes);
      return CUDA_SUCCESS;
    });
    return CUDA_SUCCESS;
  }
  stream->submit(call, [=, name = std::string(call)] { return copy(name.c_str(), to, from, bytes, device, CUDA_ERROR_ILLEGAL_ADDRESS); });
  if (!isPageable)
    return CUDA_SUCCESS;
  ++Statistics::get().pageableDownloads;
  // The target is written before the call returns.
  auto done = std::make_shared<Completion>();
  stream->mark(done);
  lock.unlock();
  done->wait();
  return stream->context.failure();
}

/// A copy that the host waits for.
CUresult copyNow(const char *call, const Side &to, const Side &from, uint64_t bytes) {
  if (CUresult error = enter(call, Needs::CurrentContext))
    return error;
  return bytes ? copy(call, to, from, bytes, currentDevice(), CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

Side device(CUdeviceptr address) { return {reinterpret_cast<const void *>(address), true}; }
Side host(const void *address) { return {address, false}; }

CUresult checkProperties(const char *call, const CUmemAllocationProp *properties) {
  if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      properties->location.id < 0 || properties->location.id >= deviceCount())
    return misuse(CUDA_ERROR_INVALID_VALUE, call, "the properties are not those of memory of a device");
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuMemGetInfo(size_t *freeBytes, size_t *total) {
  if (CUresult error = enter("cuMemGetInfo", Needs::CurrentContext))
    return error;
  *total = DeviceBytes::get().total();
  *freeBytes = *total - DeviceBytes::get().used(currentDevice());
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags) {
  if (CUresult error = enter("cuMemGetAllocationGranularity", Needs::Driver))
    return error;
  // Less than a GPU's, so that less than a page past the end of an arena goes unnoticed.
  *granularity = kPage;
  return checkProperties("cuMemGetAllocationGranularity", properties);
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wish, unsigned long long flags) {
  if (CUresult error = enter("cuMemAddressReserve", Needs::Driver))
    return error;
  if (wish || flags)
    return misuse(CUDA_ERROR_NOT_SUPPORTED, "cuMemAddressReserve", "fixed addresses and flags are not simulated");
  return DeviceMemory::get().reserve(*address, size, alignment);
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  if (CUresult error = enter("cuMemAddressFree", Needs::Driver))
    return error;
  return DeviceMemory::get().free(address, size);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties, unsigned long long flags) {
  if (CUresult error = enter("cuMemCreate", Needs::Driver))
    return error;
  if (CUresult error = checkProperties("cuMemCreate", properties))
    return error;
  // Some systems have no such handles and say so (WSL 2), others do not hand them out (containers).
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    const std::string handles = setting("ZERO_SHIM_HANDLE_TYPES");
    if (handles == "none")
      return misuse(CUDA_ERROR_NOT_SUPPORTED, "cuMemCreate", "handles are asked for that the device's attributes deny");
    if (handles == "refused")
      return CUDA_ERROR_NOT_PERMITTED;
  }
  if (!size || size % kPage || flags)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemCreate", text(size, " bytes are no multiple of the granularity ", kPage));
  std::shared_ptr<PhysicalMemory> memory;
  if (CUresult error = DeviceMemory::get().create(memory, size, properties->location.id))
    return error;
  *handle = memoryHandles().add(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (CUresult error = enter("cuMemRelease", Needs::Driver))
    return error;
  return memoryHandles().remove(handle) ? CUDA_SUCCESS : misuse(CUDA_ERROR_INVALID_VALUE, "cuMemRelease", memoryHandles().describe(handle));
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (CUresult error = enter("cuMemMap", Needs::Driver))
    return error;
  auto memory = memoryHandles().find(handle);
  if (!memory || flags)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemMap", memory ? "flags must be 0" : memoryHandles().describe(handle));
  return DeviceMemory::get().map(address, size, offset, std::move(memory));
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  if (CUresult error = enter("cuMemUnmap", Needs::Driver))
    return error;
  return DeviceMemory::get().unmap(address, size);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *descriptions, size_t count) {
  if (CUresult error = enter("cuMemSetAccess", Needs::Driver))
    return error;
  for (size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc &description = descriptions[i];
    if (description.location.type != CU_MEM_LOCATION_TYPE_DEVICE || description.location.id < 0 || description.location.id >= deviceCount())
      return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemSetAccess", "the location is none of a device");
    if (CUresult error = DeviceMemory::get().setAccess(address, size, description.location.id, description.flags & CU_MEM_ACCESS_FLAGS_PROT_READ,
                                                       description.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
      return error;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  if (CUresult error = enter("cuMemAlloc", Needs::CurrentContext))
    return error;
  return DeviceMemory::get().allocate(*address, size, currentDevice());
}

CUresult cuMemFree(CUdeviceptr address) {
  if (CUresult error = enter("cuMemFree", Needs::CurrentContext))
    return error;
  return address ? DeviceMemory::get().freeAllocation(address) : CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned) {
  if (CUresult error = enter("cuMemHostAlloc", Needs::CurrentContext))
    return error;
  return HostMemory::get().allocate(*address, size, currentDevice());
}

CUresult cuMemFreeHost(void *address) {
  if (CUresult error = enter("cuMemFreeHost", Needs::CurrentContext))
    return error;
  return HostMemory::get().free(address);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (CUresult error = enter("cuPointerGetAttribute", Needs::CurrentContext))
    return error;
  const void *pointer = reinterpret_cast<const void *>(address);
  int owner = DeviceMemory::get().deviceAt(pointer);
  bool isPinned = HostMemory::get().kindOf(pointer, 1) == HostMemory::Kind::Pinned;
  // Of memory that CUDA does not know.
  if (owner < 0 && !isPinned)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *static_cast<unsigned *>(data) = isPinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *static_cast<int *>(data) = isPinned ? currentDevice() : owner;
    return CUDA_SUCCESS;
  default:
    return misuse(CUDA_ERROR_NOT_SUPPORTED, "cuPointerGetAttribute", text("attribute ", attribute, " is not simulated"));
  }
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return enqueueCopy("cuMemcpyHtoDAsync", device(to), host(from), bytes, stream);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enqueueCopy("cuMemcpyDtoHAsync", host(to), device(from), bytes, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enqueueCopy("cuMemcpyDtoDAsync", device(to), device(from), bytes, stream);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) { return copyNow("cuMemcpyHtoD", device(to), host(from), bytes); }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) { return copyNow("cuMemcpyDtoH", host(to), device(from), bytes); }

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle) {
  constexpr const char *kCall = "cuMemsetD8Async";
  if (CUresult error = enter(kCall, Needs::CurrentContext))
    return error;
  return enqueue(handle, {kCall, {{reinterpret_cast<const void *>(to), bytes, Access::Write}}, [value, bytes](std::span<std::byte *const> memory) {
                            if (bytes)
                              std::memset(memory[0], value, bytes);
                            return CUDA_SUCCESS;
                          }});
}
