//===- KernelSlices.cpp - What kernels of the library take ----------------===//
#include "lib/Runtime/Executor/KernelSlices.h"
#include "zero/Runtime/Kernels/SliceBytes.h"
#include "zero/Runtime/Kernels/Workspace.h"

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

/// A library keeps pointers in its scratch: what is written there while it computes ends the process.
static Status checkWorkspace(const KernelCall &call, uint64_t workspaceBytes) {
  if (workspaceBytes == 0 || call.pointers.empty())
    return {};
  auto begin = [&](size_t index) { return reinterpret_cast<uintptr_t>(call.pointers[index]); };
  const size_t last = call.pointers.size() - 1;
  for (size_t index = 0; index < last; ++index)
    if (begin(index) < begin(last) + call.sizes[last] && begin(last) < begin(index) + call.sizes[index])
      return Status::badInput("kernel '" + call.name + "' has slice " + std::to_string(index) + " of " + std::to_string(call.sizes[index]) +
                              " bytes in the " + std::to_string(call.sizes[last]) + " bytes of its workspace");
  return {};
}

Status checkKernelSlices(const KernelCall &call) {
  ZERO_RETURN_IF_ERROR(check(call, kernelSliceBytes(call.name, call.integers)));
  return checkWorkspace(call, static_cast<uint64_t>(kernelWorkspaceBytes(call.name, call.integers)));
}

Status checkCudaKernelSlices(const KernelCall &call, uint64_t workspaceBytes) {
  std::optional<std::vector<uint64_t>> needed = kernelOperandBytes(call.name, call.integers);
  if (needed && workspaceBytes)
    needed->push_back(workspaceBytes);
  ZERO_RETURN_IF_ERROR(check(call, needed));
  return checkWorkspace(call, needed ? workspaceBytes : 0);
}

} // namespace zero
