//===- Permutation.h - An order of samples from a seed --------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_PERMUTATION_H
#define ZERO_LIB_RUNTIME_DATA_PERMUTATION_H

#include <bit>
#include <cstdint>

namespace zero {

/// A permutation of [0, size) that is a pure function of its key: a Feistel network over the next even power of two, walked until it
/// falls inside. Needs no memory, and any place of any epoch is found at once.
class Permutation {
public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size(size) {
    unsigned bits = size > 1 ? static_cast<unsigned>(std::bit_width(size - 1)) : 2;
    half = (bits + 1) / 2;
    mask = (uint64_t(1) << half) - 1;
    for (uint64_t round = 0; round < kRounds; ++round)
      keys[round] = mix(mix(seed + 0x9e3779b97f4a7c15ull) ^ mix(epoch * kRounds + round + 1));
  }

  uint64_t operator()(uint64_t place) const {
    do
      place = encrypt(place);
    while (place >= size);
    return place;
  }

private:
  static constexpr uint64_t kRounds = 6;
  static uint64_t mix(uint64_t x) { // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  uint64_t encrypt(uint64_t value) const {
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t key : keys) {
      uint64_t next = left ^ (mix(right + key) & mask);
      left = right;
      right = next;
    }
    return left << half | right;
  }

  uint64_t size, mask;
  unsigned half;
  uint64_t keys[kRounds];
};

} // namespace zero

#endif
