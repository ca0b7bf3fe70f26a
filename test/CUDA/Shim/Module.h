//===- Module.h - Kernels that were loaded --------------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_MODULE_H
#define ZERO_TEST_CUDA_SHIM_MODULE_H

#include "test/CUDA/Shim/Block.h"
#include "test/CUDA/Shim/Context.h"

namespace zero::shim {

class Module {
public:
  Module(Context &context) : context(context) {}
  Module(const Module &) = delete;
  ~Module();

  /// An object that the simulated NVRTC made. Its end is read from its own headers.
  CUresult load(const void *image);
  const zero_shim::Kernel *find(const char *name) const;

  Context &context;
  const zero_shim::Object *object = nullptr;

private:
  void *library = nullptr;
  int file = -1;
};

class Function {
public:
  Function(std::shared_ptr<Module> module, const zero_shim::Kernel *kernel) : module(std::move(module)), kernel(kernel) {}
  const std::shared_ptr<Module> module;
  const zero_shim::Kernel *const kernel;
  /// What cuFuncSetAttribute allows.
  std::atomic<int> mostDynamicShared = 48 << 10;
};

Handles<Module> &modules();
Handles<Function> &functions();

/// Compute capability of the devices: {9, 0}.
struct Capability {
  int major, minor;
};
Capability deviceCapability();

struct LaunchRequest {
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  zero_shim::Coordinates grid, block;
  unsigned sharedBytes = 0;
  void *const *parameters = nullptr;
};
CUresult launchKernel(const LaunchRequest &request);

} // namespace zero::shim

#endif
