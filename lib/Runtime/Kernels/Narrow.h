//===- Narrow.h - 16-bit floats as C++ types ------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_NARROW_H
#define ZERO_LIB_RUNTIME_KERNELS_NARROW_H

#include "zero/Runtime/Base/NarrowFloats.h"

namespace zero::kernels {

/// Floats in memory: read as the float they are, written rounded.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(float value) : bits(roundToBFloat16(value)) {}
  operator float() const { return widenBFloat16(bits); }
};
struct Float16 {
  uint16_t bits;
  Float16() = default;
  Float16(float value) : bits(roundToFloat16(value)) {}
  operator float() const { return widenFloat16(bits); }
};
static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2);

} // namespace zero::kernels

#endif
