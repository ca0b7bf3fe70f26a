//===- Dispatch.cpp - From a kernel's name to its factory -----------------===//
#include "lib/Runtime/Kernels/Factories.h"

using namespace zero;

Expected<std::unique_ptr<Kernel>> zero::prepareKernel(std::string_view name,
                                                      std::span<const int64_t> integers,
                                                      std::span<const double> reals,
                                                      const KernelOptions &options) {
  static constexpr struct {
    std::string_view name;
    kernels::Factory *factory;
  } table[] = {
#define ZERO_KERNEL(name, factory, reads, writes) {#name, kernels::factory},
#include "zero/Runtime/Kernels/KernelTable.inc"
  };
  for (const auto &entry : table)
    if (entry.name == name)
      return entry.factory(integers, reals, options);
  return Status::badInput("unknown kernel '" + std::string(name) + "'");
}
