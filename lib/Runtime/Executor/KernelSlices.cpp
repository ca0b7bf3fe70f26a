//===- KernelSlices.cpp - What kernels of the library take ----------------===//
#include "lib/Runtime/Executor/KernelSlices.h"
#include "zero/Runtime/Kernels/SliceBytes.h"

namespace zero {

/// How many pointers a kernel of the library takes, from its table and its parameters.
static Expected<size_t> pointersOf(const std::string &name, const std::vector<int64_t> &integers) {
  auto integer = [&](size_t i) { return i < integers.size() ? integers[i] : 0; };
  size_t variable = 0;
  if (name == "attention")
    variable = 3 + (integer(8) ? 1 : 0);
  else if (name == "attention_grad")
    variable = 6 + (integer(8) ? 1 : 0);
  else if (name == "sum_squares")
    variable = integers.empty() ? 0 : integers.size() - 1;
  static constexpr struct {
    std::string_view name;
    int reads, writes;
  } kTable[] = {
#define ZERO_KERNEL(name, factory, reads, writes) {#name, reads, writes},
#include "zero/Runtime/Kernels/KernelTable.inc"
  };
  for (const auto &entry : kTable)
    if (entry.name == name)
      return (entry.reads < 0 ? variable : static_cast<size_t>(entry.reads)) + static_cast<size_t>(entry.writes);
  return Status::badInput("the library has no kernel '" + name + "'");
}

/// `needed`: bytes behind each pointer; none where the parameters are too few to tell (whoever prepares the kernel says so).
static Status check(const KernelCall &call, size_t pointers, const std::optional<std::vector<uint64_t>> &needed) {
  if (call.pointers.size() != pointers)
    return Status::badInput("kernel '" + call.name + "' takes " + std::to_string(pointers) + " slices, the plan gives " +
                            std::to_string(call.pointers.size()));
  for (size_t index = 0; needed && index < std::min(needed->size(), call.sizes.size()); ++index)
    if (call.sizes[index] < (*needed)[index])
      return Status::badInput("kernel '" + call.name + "' reaches over " + std::to_string((*needed)[index]) + " bytes of slice " +
                              std::to_string(index) + ", which has " + std::to_string(call.sizes[index]));
  return {};
}

Status checkKernelSlices(const KernelCall &call) {
  ZERO_ASSIGN_OR_RETURN(size_t pointers, pointersOf(call.name, call.integers));
  return check(call, pointers, kernelSliceBytes(call.name, call.integers));
}

Status checkCudaKernelSlices(const KernelCall &call, uint64_t workspaceBytes) {
  ZERO_ASSIGN_OR_RETURN(size_t pointers, pointersOf(call.name, call.integers));
  std::optional<std::vector<uint64_t>> needed = kernelSliceBytes(call.name, call.integers);
  const bool hasWorkspace = call.name.starts_with("conv") || call.name.starts_with("attention");
  if (needed && hasWorkspace && !needed->empty())
    needed->back() = workspaceBytes;
  else if (!hasWorkspace && workspaceBytes) {
    ++pointers;
    if (needed)
      needed->push_back(workspaceBytes);
  }
  return check(call, pointers, needed);
}

} // namespace zero
