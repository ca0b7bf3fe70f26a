//===- PoolV4.cpp - Pooling for x86-64-v4 (AVX-512) -----------------------===//
#include "lib/Runtime/Kernels/PoolTypes.h"

#define ZERO_MAX_POOL maxPoolV4
#define ZERO_SUM_POOL sumPoolV4
#include "lib/Runtime/Kernels/PoolLoops.inc"
