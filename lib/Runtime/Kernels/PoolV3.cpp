//===- PoolV3.cpp - Pooling for x86-64-v3 (AVX2) --------------------------===//
#include "lib/Runtime/Kernels/PoolTypes.h"

#define ZERO_MAX_POOL maxPoolV3
#define ZERO_SUM_POOL sumPoolV3
#define ZERO_POOL_LOOP
#include "lib/Runtime/Kernels/PoolLoops.inc"
