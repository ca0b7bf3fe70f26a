//===- CudaContext.h - A GPU as this process uses it ----------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CUDA_CUDACONTEXT_H
#define ZERO_LIB_RUNTIME_HAL_CUDA_CUDACONTEXT_H

#include "lib/Runtime/HAL/CUDA/Driver.h"
#include <atomic>
#include <memory>
#include <string>

namespace zero {

/// The primary context of a GPU, retained. What is made in it holds on to it.
class CudaContext {
public:
  /// GPU number `index` of this process; made current for the calling thread.
  static Expected<std::shared_ptr<const CudaContext>> retain(const Driver &driver, unsigned index, bool mappedByPeers);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// Of all memory that is reserved on it.
  CUmemAllocationProp memoryProperties() const;

  Status makeCurrent() const { return driver.check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent"); }

  /// Work that does not end holds on to what it uses, and the driver waits for it before it frees anything: from now on nothing of the context
  /// is given back, which the end of the process does.
  void abandon() const { abandoned.store(true, std::memory_order_relaxed); }
  bool isAbandoned() const { return abandoned.load(std::memory_order_relaxed); }

  const Driver &driver;
  const unsigned index;
  const CUdevice device;
  std::string name;
  int major = 0, minor = 0; ///< compute capability
  bool isMappedByProcesses = false;    ///< memory is, as a file descriptor
  bool isMappedByNetworkCards = false; ///< memory may be (GPUDirect RDMA)

private:
  CudaContext(const Driver &driver, unsigned index, CUdevice device) : driver(driver), index(index), device(device) {}
  /// Whether the system does not allow memory of these properties.
  bool isMemoryRefused() const;

  CUcontext context = nullptr;
  mutable std::atomic<bool> abandoned = false;
};

} // namespace zero

#endif
