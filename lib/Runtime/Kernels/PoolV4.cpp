//===- PoolV4.cpp - Pooling for x86-64-v4 (AVX-512) -----------------------===//
#include "lib/Runtime/Kernels/PoolTypes.h"

#define ZERO_MAX_POOL maxPoolV4
#define ZERO_SUM_POOL sumPoolV4
// A row of 14, say, is one vector with some of its lanes off: rows are often short.
#define ZERO_POOL_LOOP _Pragma("clang loop vectorize(enable) vectorize_predicate(enable) interleave(disable)")
#include "lib/Runtime/Kernels/PoolLoops.inc"
