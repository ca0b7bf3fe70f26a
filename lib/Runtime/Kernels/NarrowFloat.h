//===- NarrowFloat.h - 16-bit floats on CPUs that have none ---------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_NARROWFLOAT_H
#define ZERO_LIB_RUNTIME_KERNELS_NARROWFLOAT_H

#include <bit>
#include <cstdint>

namespace zero::kernels {

/// The upper half of a float32; rounds to nearest even.
class BFloat16 {
public:
  BFloat16() = default;
  explicit BFloat16(float value) {
    auto wide = std::bit_cast<uint32_t>(value);
    if (value != value)
      bits = static_cast<uint16_t>(wide >> 16 | 0x40); // stays a NaN, a quiet one
    else
      bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

private:
  uint16_t bits = 0;
};

using Float16 = _Float16;

} // namespace zero::kernels

#endif
