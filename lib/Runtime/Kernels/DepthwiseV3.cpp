//===- DepthwiseV3.cpp - Gradients of depthwise kernels for x86-64-v3 -----===//
#include "lib/Runtime/Kernels/DepthwiseTypes.h"

#define ZERO_DEPTHWISE depthwiseV3
#include "lib/Runtime/Kernels/DepthwiseLoops.inc"
