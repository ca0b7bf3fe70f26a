//===- MatmulDoubleV4.cpp - Products of f64 matrices for x86-64-v4 (AVX-512) ---===//
#include "lib/Runtime/Kernels/MatmulDouble.h"
#include <algorithm>
#include <cstring>

namespace {
constexpr int64_t kLanes = 32;
} // namespace

#define ZERO_MULTIPLY_DOUBLES multiplyDoublesV4
#include "lib/Runtime/Kernels/MatmulDoubleLoops.inc"
