//===- OneDnn.h - oneDNN as we use it: one thread, one instruction set ----===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ONEDNN_H
#define ZERO_LIB_RUNTIME_KERNELS_ONEDNN_H

#include "zero/Runtime/Kernels/Kernel.h"
#include <dnnl.hpp>

namespace zero::kernels::onednn {

/// The CPU engine of this process.
const dnnl::engine &engine();

/// The calling thread's stream. The first call in a thread also keeps OpenMP at one thread there.
dnnl_stream_t threadStream();

/// Bounds oneDNN's instruction set for the whole process. The first call decides; a later one with another
/// variant is an error.
Status limitInstructionSet(const KernelOptions &options);

/// Primitives whose scratch is the workspace of the plan.
dnnl::primitive_attr userScratch();

/// An error where a primitive of `kernel` needs more scratch than the plan has for it (Workspace.h).
Status checkScratch(std::string_view kernel, int64_t neededBytes, int64_t plannedBytes);

} // namespace zero::kernels::onednn

#endif
