//===- DepthwiseV4.cpp - Gradients of depthwise kernels for x86-64-v4 -----===//
#include "lib/Runtime/Kernels/DepthwiseTypes.h"

#define ZERO_DEPTHWISE depthwiseV4
#include "lib/Runtime/Kernels/DepthwiseLoops.inc"
