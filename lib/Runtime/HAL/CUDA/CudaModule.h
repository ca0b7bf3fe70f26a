//===- CudaModule.h - Code on a GPU ---------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CUDA_CUDAMODULE_H
#define ZERO_LIB_RUNTIME_HAL_CUDA_CUDAMODULE_H

#include "lib/Runtime/HAL/CUDA/CudaContext.h"
#include "zero/Runtime/HAL/Stream.h"
#include <map>

namespace zero {

class CudaFunction final : public DeviceFunction {
public:
  explicit CudaFunction(CUfunction handle) : handle(handle) {}
  /// On a stream, with the shared memory that it asks for allowed first.
  Status launch(const Driver &driver, const LaunchShape &shape, void *const *arguments, CUstream stream);

private:
  CUfunction handle;
  uint32_t allowedSharedBytes = 48 * 1024; ///< dynamic ones, as every function may have
};

class CudaModule final : public DeviceModule {
public:
  static Expected<std::unique_ptr<CudaModule>> load(std::shared_ptr<const CudaContext> context, const std::string &code);
  ~CudaModule() override;
  Expected<DeviceFunction *> find(const std::string &symbol) override;

private:
  CudaModule(std::shared_ptr<const CudaContext> context, CUmodule handle) : context(std::move(context)), handle(handle) {}
  std::shared_ptr<const CudaContext> context;
  CUmodule handle;
  std::map<std::string, CudaFunction> functions;
};

/// Which of `codes` a GPU of compute capability `major`.`minor` runs best: its own binary, else the latest one of its generation, else
/// the latest text that is not newer than it. Nothing where none runs on it.
std::optional<size_t> chooseCode(const std::vector<CodeLabel> &codes, int major, int minor);

} // namespace zero

#endif
