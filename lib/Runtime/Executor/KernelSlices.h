//===- KernelSlices.h - What kernels of the library take ------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_KERNELSLICES_H
#define ZERO_LIB_RUNTIME_EXECUTOR_KERNELSLICES_H

#include "lib/Runtime/Executor/Commands.h"

namespace zero {

/// A kernel of the library gets as many slices as its table and its parameters say, and reaches no further than they do.
Status checkKernelSlices(const KernelCall &call);
/// The same on a GPU, where it needs `workspaceBytes` of its last slice; of a product, which has none on CPUs, of one more.
Status checkCudaKernelSlices(const KernelCall &call, uint64_t workspaceBytes);

} // namespace zero

#endif
