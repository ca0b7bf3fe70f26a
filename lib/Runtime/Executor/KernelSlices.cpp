//===- KernelSlices.cpp - What kernels of the library take ----------------===//
#include "lib/Runtime/Executor/KernelSlices.h"
#include "zero/Runtime/Kernels/SliceBytes.h"

namespace zero {

/// `needed`: bytes behind each pointer; none where there is no such kernel or too few parameters (whoever prepares the kernel says which).
static Status check(const KernelCall &call, const std::optional<std::vector<uint64_t>> &needed) {
  if (!needed)
    return {};
  if (call.pointers.size() != needed->size())
    return Status::badInput("kernel '" + call.name + "' takes " + std::to_string(needed->size()) + " slices, the plan gives " +
                            std::to_string(call.pointers.size()));
  for (size_t index = 0; index < needed->size(); ++index)
    if (call.sizes[index] < (*needed)[index])
      return Status::badInput("kernel '" + call.name + "' reaches over " + std::to_string((*needed)[index]) + " bytes of slice " +
                              std::to_string(index) + ", which has " + std::to_string(call.sizes[index]));
  return {};
}

Status checkKernelSlices(const KernelCall &call) { return check(call, kernelSliceBytes(call.name, call.integers)); }

Status checkCudaKernelSlices(const KernelCall &call, uint64_t workspaceBytes) {
  std::optional<std::vector<uint64_t>> needed = kernelOperandBytes(call.name, call.integers);
  if (needed && workspaceBytes)
    needed->push_back(workspaceBytes);
  return check(call, needed);
}

} // namespace zero
