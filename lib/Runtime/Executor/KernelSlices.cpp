//===- KernelSlices.cpp - What kernels of the library take ----------------===//
#include "lib/Runtime/Executor/KernelSlices.h"
#include "zero/Runtime/Kernels/SliceBytes.h"

namespace zero {

static std::string slice(size_t index) { return "slice " + std::to_string(index); }

/// A library keeps pointers in its scratch, the last slice: what is written there while it computes ends the process.
static Status checkApart(const KernelCall &call) {
  auto begin = [&](size_t index) { return reinterpret_cast<uintptr_t>(call.pointers[index]); };
  const size_t last = call.pointers.size() - 1;
  for (size_t index = 0; index < last; ++index)
    if (begin(index) < begin(last) + call.sizes[last] && begin(last) < begin(index) + call.sizes[index])
      return Status::badInput("kernel '" + call.name + "' has " + slice(index) + " of " + std::to_string(call.sizes[index]) +
                              " bytes in the " + std::to_string(call.sizes[last]) + " bytes of its workspace");
  return {};
}

/// `needed`: bytes behind each pointer but the workspace's.
static Status check(const KernelCall &call, std::vector<uint64_t> needed, uint64_t workspaceBytes) {
  if (workspaceBytes)
    needed.push_back(workspaceBytes);
  if (call.pointers.size() != needed.size())
    return Status::badInput("kernel '" + call.name + "' takes " + std::to_string(needed.size()) + " slices, the plan gives " +
                            std::to_string(call.pointers.size()));
  for (size_t index = 0; index < needed.size(); ++index)
    if (call.sizes[index] < needed[index])
      return Status::badInput("kernel '" + call.name + "' reaches over " + std::to_string(needed[index]) + " bytes of " + slice(index) +
                              ", which has " + std::to_string(call.sizes[index]));
  return workspaceBytes ? checkApart(call) : Status();
}

Status checkKernelSlices(const KernelCall &call) {
  std::optional<std::vector<uint64_t>> operands = kernelOperandBytes(call.name, call.integers);
  return operands ? check(call, *operands, kernelScratchBytes(call.name, call.integers, *operands)) : Status();
}

Status checkCudaKernelSlices(const KernelCall &call, uint64_t workspaceBytes) {
  std::optional<std::vector<uint64_t>> operands = kernelOperandBytes(call.name, call.integers);
  return operands ? check(call, std::move(*operands), workspaceBytes) : Status();
}

} // namespace zero
