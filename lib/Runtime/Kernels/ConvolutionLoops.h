//===- ConvolutionLoops.h - Convolutions in plain loops -------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_CONVOLUTIONLOOPS_H
#define ZERO_LIB_RUNTIME_KERNELS_CONVOLUTIONLOOPS_H

#include "zero/Runtime/Kernels/ConvolutionSizes.h"
#include "zero/Runtime/Kernels/Kernel.h"

namespace zero::kernels {

/// Makes a kernel for what oneDNN does not do: other floats than float32, unusual paddings. Reads and writes
/// as in KernelTable.inc; the workspace stays unused.
using ConvolutionLoops = std::unique_ptr<Kernel>(const ConvolutionShape &shape);
ConvolutionLoops convolutionLoops, convolutionTransposeLoops, convolutionKernelLoops;

} // namespace zero::kernels

#endif
