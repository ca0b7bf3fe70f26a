//===- OrderedSum.cpp - Sums of all ranks' contributions, in rank order ---===//
#include "lib/Runtime/HAL/Comm/OrderedSum.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace zero {
namespace {

/// Elements that are summed at a time: in the first-level cache, also while contributions stream by.
constexpr uint64_t kBlock = 1024;
/// From so many on the result goes past the caches, which it would only fill.
constexpr uint64_t kStreamed = 8192;

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

/// Many numbers of float32 in one pass: each contribution is read once and the sum goes past the caches.
void sumManyFloats(const void *const *contributions, uint64_t offset, unsigned ranks, float *target, uint64_t elements) {
  constexpr uint64_t kVector = 8, kStep = 4 * kVector;
  auto from = [&](unsigned rank) { return static_cast<const float *>(contributions[rank]) + offset; };
  auto one = [&](uint64_t i) {
    float sum = from(0)[i];
    for (unsigned rank = 1; rank < ranks; ++rank)
      sum += from(rank)[i];
    target[i] = sum;
  };
  uint64_t i = 0;
  for (; reinterpret_cast<uintptr_t>(target + i) % sizeof(__m256) && i < elements; ++i)
    one(i);
  for (; i + kStep <= elements; i += kStep) {
    __m256 sums[4];
    for (unsigned v = 0; v < 4; ++v)
      sums[v] = _mm256_loadu_ps(from(0) + i + v * kVector);
    for (unsigned rank = 1; rank < ranks; ++rank)
      for (unsigned v = 0; v < 4; ++v)
        sums[v] = _mm256_add_ps(sums[v], _mm256_loadu_ps(from(rank) + i + v * kVector));
    for (unsigned v = 0; v < 4; ++v)
      _mm256_stream_ps(target + i + v * kVector, sums[v]);
  }
  for (; i < elements; ++i)
    one(i);
  _mm_sfence();
}

} // namespace

void sumInRankOrder(const void *const *contributions, uint64_t offset, unsigned ranks, FloatType element, void *target,
                    FloatType targetElement, uint64_t elements) {
  if (element == FloatType::F32 && targetElement == FloatType::F32 && elements >= kStreamed)
    return sumManyFloats(contributions, offset, ranks, static_cast<float *>(target), elements);
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
