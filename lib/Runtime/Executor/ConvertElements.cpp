//===- ConvertElements.cpp - Weights in another float type ----------------===//
#include "lib/Runtime/Executor/ConvertElements.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <cstring>

namespace zero {
namespace {

// How a number of each type is read and written: f32 lies between.
struct F32 {
  using Bits = float;
  static float widen(float value) { return value; }
  static float narrow(float value) { return value; }
};
struct F16 {
  using Bits = uint16_t;
  static float widen(uint16_t bits) { return widenFloat16(bits); }
  static uint16_t narrow(float value) { return roundToFloat16(value); }
};
struct BF16 {
  using Bits = uint16_t;
  static float widen(uint16_t bits) { return widenBFloat16(bits); }
  static uint16_t narrow(float value) { return roundToBFloat16(value); }
};

template <typename From, typename To> void convert(const std::byte *source, std::byte *target, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    typename From::Bits read;
    std::memcpy(&read, source + i * sizeof read, sizeof read);
    typename To::Bits written = To::narrow(From::widen(read));
    std::memcpy(target + i * sizeof written, &written, sizeof written);
  }
}

template <typename From>
void convertFrom(const std::byte *source, std::byte *target, schema::ElementType to, uint64_t count) {
  switch (to) {
  case schema::ElementType::f16:
    return convert<From, F16>(source, target, count);
  case schema::ElementType::bf16:
    return convert<From, BF16>(source, target, count);
  default:
    return convert<From, F32>(source, target, count);
  }
}

} // namespace

void convertElements(const std::byte *source, schema::ElementType from, std::byte *target, schema::ElementType to, uint64_t count) {
  if (from == to) {
    std::memcpy(target, source, count * elementBytes(to));
    return;
  }
  switch (from) {
  case schema::ElementType::f16:
    return convertFrom<F16>(source, target, to, count);
  case schema::ElementType::bf16:
    return convertFrom<BF16>(source, target, to, count);
  default:
    return convertFrom<F32>(source, target, to, count);
  }
}

} // namespace zero
