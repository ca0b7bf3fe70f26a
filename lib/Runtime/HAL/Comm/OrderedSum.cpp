//===- OrderedSum.cpp - Sums of all ranks' contributions, in rank order ---===//
#include "lib/Runtime/HAL/Comm/OrderedSum.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <algorithm>
#include <cstring>

namespace zero {
namespace {

/// Elements that are summed at a time: in the first-level cache, also while contributions stream by.
constexpr uint64_t kBlock = 1024;

/// sums[i] = or += the numbers from element `begin` on.
template <bool add> void take(const void *from, FloatType type, uint64_t begin, uint64_t count, float *sums) {
  auto each = [&](const auto *values, auto widen) {
    for (uint64_t i = 0; i < count; ++i)
      sums[i] = add ? sums[i] + widen(values[begin + i]) : widen(values[begin + i]);
  };
  switch (type) {
  case FloatType::F32:
    return each(static_cast<const float *>(from), [](float value) { return value; });
  case FloatType::F16:
    return each(static_cast<const uint16_t *>(from), widenFloat16);
  case FloatType::BF16:
    return each(static_cast<const uint16_t *>(from), widenBFloat16);
  }
}

void put(const float *sums, void *to, FloatType type, uint64_t begin, uint64_t count) {
  auto each = [&](uint16_t *values, auto round) {
    for (uint64_t i = 0; i < count; ++i)
      values[begin + i] = round(sums[i]);
  };
  switch (type) {
  case FloatType::F32:
    std::memcpy(static_cast<float *>(to) + begin, sums, count * sizeof(float));
    return;
  case FloatType::F16:
    return each(static_cast<uint16_t *>(to), roundToFloat16);
  case FloatType::BF16:
    return each(static_cast<uint16_t *>(to), roundToBFloat16);
  }
}

} // namespace

void sumInRankOrder(const void *const *contributions, uint64_t offset, unsigned ranks, FloatType element, void *target,
                    FloatType targetElement, uint64_t elements) {
  float sums[kBlock];
  for (uint64_t begin = 0; begin < elements; begin += kBlock) {
    uint64_t count = std::min(kBlock, elements - begin);
    take<false>(contributions[0], element, offset + begin, count, sums);
    for (unsigned rank = 1; rank < ranks; ++rank)
      take<true>(contributions[rank], element, offset + begin, count, sums);
    put(sums, target, targetElement, begin, count);
  }
}

void sumInRankOrder(const void *const *contributions, unsigned ranks, int64_t *target, uint64_t elements) {
  uint64_t sums[kBlock]; // wrap without undefined behaviour
  for (uint64_t begin = 0; begin < elements; begin += kBlock) {
    uint64_t count = std::min(kBlock, elements - begin);
    std::memcpy(sums, static_cast<const int64_t *>(contributions[0]) + begin, count * sizeof(int64_t));
    for (unsigned rank = 1; rank < ranks; ++rank)
      for (uint64_t i = 0; i < count; ++i)
        sums[i] += static_cast<uint64_t>(static_cast<const int64_t *>(contributions[rank])[begin + i]);
    std::memcpy(target + begin, sums, count * sizeof(int64_t));
  }
}

} // namespace zero
