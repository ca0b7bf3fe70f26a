//===- CudaArena.h - Memory of a GPU, reserved once -----------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CUDA_CUDAARENA_H
#define ZERO_LIB_RUNTIME_HAL_CUDA_CUDAARENA_H

#include "lib/Runtime/HAL/CUDA/CudaContext.h"
#include "zero/Runtime/HAL/Arena.h"
#include "zero/Runtime/HAL/Stream.h"

namespace zero {

/// A range of addresses with memory of the GPU behind it. `data` is an address of the device's: the host reads nothing there.
class CudaArena final : public Arena {
public:
  /// Its memory is not written yet. ProgramFailed with both numbers where less is free.
  static Expected<std::unique_ptr<CudaArena>> allocate(std::shared_ptr<const CudaContext> context, const std::string &name, uint64_t size);
  ~CudaArena() override;
  std::byte *data() const override { return reinterpret_cast<std::byte *>(base); }
  uint64_t size() const override { return bytes; }

private:
  CudaArena(std::shared_ptr<const CudaContext> context, uint64_t size) : context(std::move(context)), bytes(size) {}
  Status map();

  std::shared_ptr<const CudaContext> context;
  const uint64_t bytes;
  uint64_t reserved = 0; ///< whole granules
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle memory = 0;
  bool isCreated = false, isMapped = false;
};

/// Memory of the host that the GPU reads and writes by itself.
class CudaPinnedMemory final : public PinnedMemory {
public:
  static Expected<std::unique_ptr<CudaPinnedMemory>> allocate(std::shared_ptr<const CudaContext> context, uint64_t size);
  ~CudaPinnedMemory() override;
  std::byte *data() const override { return static_cast<std::byte *>(base); }
  uint64_t size() const override { return bytes; }

private:
  CudaPinnedMemory(std::shared_ptr<const CudaContext> context, void *base, uint64_t size)
      : context(std::move(context)), base(base), bytes(size) {}
  std::shared_ptr<const CudaContext> context;
  void *base;
  uint64_t bytes;
};

} // namespace zero

#endif
