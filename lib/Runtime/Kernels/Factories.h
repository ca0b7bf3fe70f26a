//===- Factories.h - One factory per kernel of the library ----------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_FACTORIES_H
#define ZERO_LIB_RUNTIME_KERNELS_FACTORIES_H

#include "zero/Runtime/Kernels/Kernel.h"

namespace zero::kernels {

using Factory = Expected<std::unique_ptr<Kernel>>(std::span<const int64_t> integers,
                                                  std::span<const double> reals,
                                                  const KernelOptions &options);

#define ZERO_KERNEL(name, factory, reads, writes) Factory factory;
#include "zero/Runtime/Kernels/KernelTable.inc"

} // namespace zero::kernels

#endif
