//===- DepthwiseTypes.h - What the depthwise loops of each variant take ---===//
//
// Included by files that are compiled for one instruction set: nothing here may pull in inline functions of
// the standard library (the linker would keep one copy, perhaps the one this CPU cannot run).
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_DEPTHWISETYPES_H
#define ZERO_LIB_RUNTIME_KERNELS_DEPTHWISETYPES_H

#include <stdint.h>

namespace zero::kernels {

/// The gradient of a kernel with one filter for each channel; windows step by 1 along the last dimension.
struct DepthwiseArguments {
  int64_t batch, channels;
  int64_t spatial[2], window[2], low[2], dilations[2], positions[2], strideY;
  int64_t dataRow, outRow; ///< elements of a row with its zeros, in the workspace
  const float *data, *out;
  float *kernel;
};

/// Computes channels [begin, end) in one part of the workspace (ConvolutionSizes.h).
using DepthwiseRange = void(const DepthwiseArguments &arguments, int64_t begin, int64_t end, float *workspace);
DepthwiseRange depthwiseV3, depthwiseV4;

} // namespace zero::kernels

#endif
