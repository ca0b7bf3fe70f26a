//===- MatmulDoubleV3.cpp - Products of f64 matrices for x86-64-v3 (AVX2) ---===//
#include "lib/Runtime/Kernels/MatmulDouble.h"
#include <algorithm>
#include <cstring>

namespace {
constexpr int64_t kLanes = 8;
} // namespace

#define ZERO_MULTIPLY_DOUBLES multiplyDoublesV3
#include "lib/Runtime/Kernels/MatmulDoubleLoops.inc"
