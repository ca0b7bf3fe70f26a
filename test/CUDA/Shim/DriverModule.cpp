//===- DriverModule.cpp - Modules, functions and launches -----------------===//
#include "test/CUDA/Shim/Module.h"

using namespace zero::shim;

CUresult cuModuleLoadData(CUmodule *handle, const void *image) {
  if (CUresult error = enter("cuModuleLoadData", Needs::CurrentContext))
    return error;
  auto module = std::make_shared<Module>(*currentContext());
  if (CUresult error = module->load(image))
    return error;
  *handle = handleOf<CUmodule>(modules().add(std::move(module)));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned, CUjit_option *, void **) { return cuModuleLoadData(handle, image); }

CUresult cuModuleUnload(CUmodule handle) {
  if (CUresult error = enter("cuModuleUnload", Needs::CurrentContext))
    return error;
  std::shared_ptr<Module> module = modules().remove(numberOf(handle));
  if (!module)
    return misuse(CUDA_ERROR_INVALID_HANDLE, "cuModuleUnload", modules().describe(numberOf(handle)));
  // Its functions go with it, though the code stays until what was submitted has run.
  functions().removeIf([&](const Function &function) { return function.module == module; });
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *handle, CUmodule moduleHandle, const char *name) {
  if (CUresult error = enter("cuModuleGetFunction", Needs::CurrentContext))
    return error;
  std::shared_ptr<Module> module = modules().find(numberOf(moduleHandle));
  if (!module)
    return misuse(CUDA_ERROR_INVALID_HANDLE, "cuModuleGetFunction", modules().describe(numberOf(moduleHandle)));
  const zero_shim::Kernel *kernel = module->find(name);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  *handle = handleOf<CUfunction>(functions().add(std::make_shared<Function>(module, kernel)));
  return CUDA_SUCCESS;
}

static CUresult findFunction(const char *call, CUfunction handle, std::shared_ptr<Function> &function) {
  if (CUresult error = enter(call, Needs::CurrentContext))
    return error;
  function = functions().find(numberOf(handle));
  return function ? CUDA_SUCCESS : misuse(CUDA_ERROR_INVALID_HANDLE, call, functions().describe(numberOf(handle)));
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  std::shared_ptr<Function> function;
  if (CUresult error = findFunction("cuFuncGetAttribute", handle, function))
    return error;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = function->kernel->mostThreads ? static_cast<int>(function->kernel->mostThreads) : 1024;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->mostDynamicShared;
    return CUDA_SUCCESS;
  default:
    // Registers, spills: the host's code has none.
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  constexpr const char *kCall = "cuFuncSetAttribute";
  constexpr int kMostShared = 99 << 10; // of the smallest GPU in question
  std::shared_ptr<Function> function;
  if (CUresult error = findFunction(kCall, handle, function))
    return error;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return CUDA_SUCCESS;
  if (value < 0 || value > kMostShared)
    return misuse(CUDA_ERROR_INVALID_VALUE, kCall, text(value, " bytes of dynamic shared memory are more than the ", kMostShared, " of a block"));
  function->mostDynamicShared = value;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                        unsigned sharedBytes, CUstream stream, void **parameters, void **extra) {
  if (CUresult error = enter("cuLaunchKernel", Needs::CurrentContext))
    return error;
  if (extra)
    return misuse(CUDA_ERROR_NOT_SUPPORTED, "cuLaunchKernel", "arguments in one buffer are not simulated");
  return launchKernel({function, stream, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, parameters});
}
