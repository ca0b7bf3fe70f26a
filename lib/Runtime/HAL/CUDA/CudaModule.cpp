//===- CudaModule.cpp - Code on a GPU -------------------------------------===//
#include "lib/Runtime/HAL/CUDA/CudaModule.h"
#include <charconv>

namespace zero {

Status CudaFunction::launch(const Driver &driver, const LaunchShape &shape, void *const *arguments, CUstream stream) {
  if (shape.sharedBytes > allowedSharedBytes) {
    ZERO_CUDA(driver, cuFuncSetAttribute(handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shape.sharedBytes)));
    allowedSharedBytes = shape.sharedBytes;
  }
  ZERO_CUDA(driver, cuLaunchKernel(handle, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2],
                                   shape.sharedBytes, stream, const_cast<void **>(arguments), nullptr));
  return {};
}

Expected<std::unique_ptr<CudaModule>> CudaModule::load(std::shared_ptr<const CudaContext> context, const std::string &code) {
  CUmodule handle = nullptr;
  ZERO_CUDA(context->driver, cuModuleLoadData(&handle, code.c_str())); // text ends in a zero, as it must
  return std::unique_ptr<CudaModule>(new CudaModule(std::move(context), handle));
}

CudaModule::~CudaModule() {
  if (!context->isAbandoned())
    context->driver.cuModuleUnload(handle);
}

Expected<DeviceFunction *> CudaModule::find(const std::string &symbol) {
  auto known = functions.find(symbol);
  if (known == functions.end()) {
    CUfunction function = nullptr;
    if (CUresult result = context->driver.cuModuleGetFunction(&function, handle, symbol.c_str()); result == CUDA_ERROR_NOT_FOUND)
      return Status::badInput("the program's code for GPUs has no kernel '" + symbol + "'");
    else
      ZERO_RETURN_IF_ERROR(context->driver.check(result, "cuModuleGetFunction"));
    known = functions.emplace(symbol, CudaFunction(function)).first;
  }
  return static_cast<DeviceFunction *>(&known->second);
}

std::optional<size_t> chooseCode(const std::vector<CodeLabel> &codes, int major, int minor) {
  const int own = 10 * major + minor;
  std::optional<size_t> best;
  int bestRank = -1;
  for (size_t i = 0; i < codes.size(); ++i) {
    const std::string &label = codes[i].label, prefix = codes[i].isText ? "compute_" : "sm_";
    int number = 0;
    if (!label.starts_with(prefix) || std::from_chars(label.data() + prefix.size(), label.data() + label.size(), number).ptr != label.data() + label.size())
      continue; // "sm_90a" runs on that one alone and is not what a program holds
    const bool runs = codes[i].isText ? number <= own : number / 10 == major && number <= own;
    const int rank = number + (codes[i].isText ? 0 : 1000);
    if (runs && rank > bestRank)
      best = i, bestRank = rank;
  }
  return best;
}

} // namespace zero
