//===- DriverDevice.cpp - Devices and contexts ----------------------------===//
#include "test/CUDA/Shim/Context.h"
#include "test/CUDA/Shim/Faults.h"
#include "test/CUDA/Shim/Memory.h"
#include "test/CUDA/Shim/Module.h"
#include "test/CUDA/Shim/Statistics.h"
#include <cstdlib>
#include <cstring>

using namespace zero::shim;

namespace {

/// What a context takes of its device's memory: this part of the whole.
constexpr uint64_t kContextPart = 64;

CUresult findDevice(const char *call, CUdevice device) {
  return device >= 0 && device < deviceCount()
             ? CUDA_SUCCESS
             : misuse(CUDA_ERROR_INVALID_DEVICE, call, text("there is no device ", device, " among ", deviceCount()));
}

/// What of a context was never destroyed, one a line; empty: nothing.
std::string leaksOf(Context &context) {
  std::vector<std::string> all;
  auto add = [&](const std::vector<std::string> &names) { all.insert(all.end(), names.begin(), names.end()); };
  auto isOurs = [&](const auto &object) { return &object.context == &context; };
  add(streams().names(isOurs));
  add(events().names(isOurs));
  add(modules().names(isOurs));
  add(graphs().names([&](const Graph &graph) { return graph.context == &context; }));
  add(graphExecs().names([&](const GraphExec &exec) { return exec.graph->context == &context; }));
  add(memoryHandles().names([&](const PhysicalMemory &memory) { return memory.device == context.device; }));
  add(DeviceMemory::get().leaks(context.device));
  add(HostMemory::get().leaks(context.device));
  std::string list;
  for (const std::string &name : all)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// What goes with a context.
void destroyAllOf(Context &context) {
  auto isOurs = [&](const auto &object) { return &object.context == &context; };
  graphExecs().removeIf([&](const GraphExec &exec) { return exec.graph->context == &context; });
  graphs().removeIf([&](const Graph &graph) { return graph.context == &context; });
  functions().removeIf([&](const Function &function) { return &function.module->context == &context; });
  modules().removeIf(isOurs);
  events().removeIf(isOurs);
  streams().removeIf(isOurs);
  DeviceMemory::get().freeAllocations(context.device);
  HostMemory::get().freeAll(context.device);
}

/// A process that ends well leaves nothing behind. One that fails may.
void reportAtExit(int status, void *) {
  if (status != 0)
    return;
  Statistics::get().write();
  for (int device = 0; device < deviceCount(); ++device)
    if (contextOf(device).retained) {
      std::string leaks = leaksOf(contextOf(device));
      std::string what = text("the context of device ", device, " was never released", leaks.empty() ? "" : "; live: ", leaks);
      if (exitsOnMisuse())
        endProcess("exit", what);
      say("exit", what);
    }
}

} // namespace

CUresult cuInit(unsigned flags) {
  if (CUresult error = enter("cuInit", Needs::Nothing))
    return error;
  if (flags)
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuInit", "flags must be 0");
  if (deviceCount() == 0)
    return CUDA_ERROR_NO_DEVICE;
  nameFaults();
  static const int registered = on_exit(reportAtExit, nullptr);
  (void)registered;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  if (CUresult error = enter("cuDeviceGetCount", Needs::Driver))
    return error;
  *count = deviceCount();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (CUresult error = enter("cuDeviceGet", Needs::Driver))
    return error;
  *device = ordinal;
  return findDevice("cuDeviceGet", ordinal);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  if (CUresult error = enter("cuDeviceGetName", Needs::Driver))
    return error;
  std::snprintf(name, static_cast<size_t>(length), "Zero shim");
  return findDevice("cuDeviceGetName", device);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  if (CUresult error = enter("cuDeviceGetUuid", Needs::Driver))
    return error;
  if (CUresult error = findDevice("cuDeviceGetUuid", device))
    return error;
  std::string digits;
  for (char c : uuidText(physicalDevice(device)).substr(4))
    if (c != '-')
      digits += c;
  for (size_t i = 0; i < sizeof uuid->bytes; ++i)
    uuid->bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  if (CUresult error = enter("cuDeviceTotalMem", Needs::Driver))
    return error;
  *bytes = DeviceBytes::get().total();
  return findDevice("cuDeviceTotalMem", device);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  if (CUresult error = enter("cuDeviceGetAttribute", Needs::Driver))
    return error;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = deviceCapability().major;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = deviceCapability().minor;
    break;
  case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    *value = setting("ZERO_SHIM_HANDLE_TYPES") != "none";
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 4;
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = 48 << 10;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = 99 << 10;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    *value = physicalDevice(device) + 1;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
  case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    *value = 0;
    break;
  default:
    return misuse(CUDA_ERROR_NOT_SUPPORTED, "cuDeviceGetAttribute", text("attribute ", attribute, " is not simulated"));
  }
  return findDevice("cuDeviceGetAttribute", device);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  constexpr const char *kCall = "cuDevicePrimaryCtxRetain";
  if (CUresult error = enter(kCall, Needs::Driver))
    return error;
  if (CUresult error = findDevice(kCall, device))
    return error;
  Context &primary = contextOf(device);
  std::lock_guard lock(primary.mutex);
  if (!primary.retained && !DeviceBytes::get().take(device, static_cast<int64_t>(DeviceBytes::get().total() / kContextPart)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  ++primary.retained;
  *context = handleOf(primary);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  constexpr const char *kCall = "cuDevicePrimaryCtxRelease";
  if (CUresult error = enter(kCall, Needs::Driver))
    return error;
  if (CUresult error = findDevice(kCall, device))
    return error;
  Context &primary = contextOf(device);
  std::lock_guard lock(primary.mutex);
  if (!primary.retained)
    return misuse(CUDA_ERROR_INVALID_CONTEXT, kCall, text("the context of device ", device, " was not retained"));
  if (--primary.retained)
    return CUDA_SUCCESS;
  // The owner of a context that failed cannot destroy what is in it.
  std::string leaks = primary.failure() ? "" : leaksOf(primary);
  destroyAllOf(primary);
  primary.forgetFailure();
  DeviceBytes::get().take(device, -static_cast<int64_t>(DeviceBytes::get().total() / kContextPart));
  return leaks.empty() ? CUDA_SUCCESS : misuse(CUDA_ERROR_INVALID_CONTEXT, kCall, text("still live in the context of device ", device, ": ", leaks));
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned) {
  if (CUresult error = enter("cuDevicePrimaryCtxSetFlags", Needs::Driver))
    return error;
  return findDevice("cuDevicePrimaryCtxSetFlags", device);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  if (CUresult error = enter("cuCtxSetCurrent", Needs::Driver))
    return error;
  Context *context = contextOf(handle);
  bool isLive = false;
  if (context) {
    std::lock_guard lock(context->mutex);
    isLive = context->retained;
  }
  if (handle && !isLive)
    return misuse(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent", text(hex(numberOf(handle)), " is no context, or was released"));
  currentContext() = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *handle) {
  if (CUresult error = enter("cuCtxGetCurrent", Needs::Driver))
    return error;
  *handle = currentContext() ? handleOf(*currentContext()) : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  if (CUresult error = enter("cuCtxGetDevice", Needs::CurrentContext))
    return error;
  *device = currentDevice();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (CUresult error = enter("cuCtxGetStreamPriorityRange", Needs::CurrentContext))
    return error;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

namespace {

struct ErrorText {
  CUresult code;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not initiated in this stream"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText *errorText(CUresult code) {
  for (const ErrorText &error : kErrors)
    if (error.code == code)
      return &error;
  return nullptr;
}

} // namespace

CUresult cuGetErrorName(CUresult code, const char **name) {
  const ErrorText *found = errorText(code);
  *name = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **string) {
  const ErrorText *found = errorText(code);
  *string = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
