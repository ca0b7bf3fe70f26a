//===- NcclSums.cpp - Sums in the order of a ring -------------------------===//
#include "test/CUDA/Shim/NcclSums.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <cstring>

namespace zero::shim {
namespace {

template <typename T, typename Add>
void addEach(std::span<const std::byte *const> contributions, unsigned owner, std::byte *target, uint64_t elements, Add add) {
  const size_t ranks = contributions.size();
  for (uint64_t i = 0; i < elements; ++i) {
    T sum = {};
    for (size_t step = 1; step <= ranks; ++step) {
      T number;
      std::memcpy(&number, contributions[(owner + step) % ranks] + i * sizeof(T), sizeof(T));
      sum = step == 1 ? number : add(sum, number);
    }
    std::memcpy(target + i * sizeof(T), &sum, sizeof(T));
  }
}

} // namespace

uint64_t ncclSizeOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclFloat32:
    return 4;
  case ncclInt64:
    return 8;
  default:
    return 0;
  }
}

void addAsRing(std::span<const std::byte *const> contributions, unsigned owner, ncclDataType_t type, std::byte *target, uint64_t elements) {
  switch (type) {
  case ncclFloat32:
    return addEach<float>(contributions, owner, target, elements, [](float a, float b) { return a + b; });
  case ncclFloat16:
    return addEach<uint16_t>(contributions, owner, target, elements,
                             [](uint16_t a, uint16_t b) { return roundToFloat16(widenFloat16(a) + widenFloat16(b)); });
  case ncclBfloat16:
    return addEach<uint16_t>(contributions, owner, target, elements,
                             [](uint16_t a, uint16_t b) { return roundToBFloat16(widenBFloat16(a) + widenBFloat16(b)); });
  case ncclInt64:
    return addEach<uint64_t>(contributions, owner, target, elements, [](uint64_t a, uint64_t b) { return a + b; });
  default:
    return;
  }
}

} // namespace zero::shim
