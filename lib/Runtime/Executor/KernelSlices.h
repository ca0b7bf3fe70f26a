//===- KernelSlices.h - What kernels of the library take ------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_KERNELSLICES_H
#define ZERO_LIB_RUNTIME_EXECUTOR_KERNELSLICES_H

#include "lib/Runtime/Executor/Commands.h"

namespace zero {

/// A kernel of the library gets as many slices as it takes, reaches no further than they do, and has none in its workspace. Nothing is said
/// of a name that the library does not have or of too few integers: whoever prepares the kernel does.
Status checkKernelSlices(const KernelCall &call);
/// The same on a GPU, where its workspace is another one.
Status checkCudaKernelSlices(const KernelCall &call, uint64_t workspaceBytes);

} // namespace zero

#endif
