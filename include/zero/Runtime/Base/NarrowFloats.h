//===- NarrowFloats.h - 16-bit floats as numbers --------------------------===//
//
// Widening is exact, narrowing rounds to nearest even; infinities stay, a NaN stays one (made quiet, its upper bits kept),
// subnormal numbers are kept in both directions. Integer arithmetic without branches: loops over it become vector code on
// every machine, with the bits that F16C gives.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_BASE_NARROWFLOATS_H
#define ZERO_RUNTIME_BASE_NARROWFLOATS_H

#include <bit>
#include <cstdint>

namespace zero {

inline float widenBFloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t roundToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1), quiet = bits | 0x400000;
  return static_cast<uint16_t>(((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);
}

inline float widenFloat16(uint16_t half) {
  uint32_t magnitude = half & 0x7fff;
  // As the bits of a float it is too small by 2^112, also where it is subnormal.
  uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
  uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0, notFinite = 0x7f800000 | magnitude << 13 | quiet;
  return std::bit_cast<float>((magnitude >= 0x7c00 ? notFinite : finite) | static_cast<uint32_t>(half & 0x8000) << 16);
}

inline uint16_t roundToFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  // The exponent's bias goes from 127 to 15, and the carry of the rounding may pass into the exponent.
  uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Beside 0.5 the last bit of a float counts 2^-24, as it does in a subnormal half.
  uint32_t small = std::bit_cast<uint32_t>((magnitude < 0x38800000 ? std::bit_cast<float>(magnitude) : 0.0f) + 0.5f) - 0x3f000000;
  uint32_t finite = magnitude < 0x38800000 ? small : normal;
  uint32_t notFinite = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : 0x7c00;
  return static_cast<uint16_t>((magnitude >= 0x477ff000 ? notFinite : finite) | ((bits >> 16) & 0x8000));
}

} // namespace zero

#endif
