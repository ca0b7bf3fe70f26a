//===- Narrow.h - 16-bit floats as numbers --------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_NARROW_H
#define ZERO_LIB_RUNTIME_KERNELS_NARROW_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace zero::kernels {

/// To nearest even; a NaN stays one.
inline uint16_t roundToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// A bf16 in memory: reads as the float it is, written rounded.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(float value) : bits(roundToBFloat16(value)) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};
using Float16 = _Float16;
static_assert(sizeof(BFloat16) == 2 && sizeof(_Float16) == 2);

} // namespace zero::kernels

#endif
