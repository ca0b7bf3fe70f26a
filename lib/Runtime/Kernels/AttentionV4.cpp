//===- AttentionV4.cpp - Attention for x86-64-v4 (AVX-512) ----------------===//
#include "lib/Runtime/Kernels/AttentionVectorV4.h"

#define ZERO_ATTENTION attentionV4
#include "lib/Runtime/Kernels/AttentionLoops.inc"
