//===- RankRange.h - Bytes that each rank has at a place of its own -------===//
//
// Standard library only: the compiler proves with it what the runtime checks again at start.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_RANKRANGE_H
#define ZERO_RUNTIME_HAL_RANKRANGE_H

#include <cstdint>

namespace zero {

/// Rank r has the bytes [begin + r stride, begin + r stride + size) of an arena. No number is negative, nor does an end overflow.
struct RankRange {
  int64_t begin, size, stride;

  bool operator==(const RankRange &) const = default;

  /// Whether each rank has its part of `whole`, in rank order.
  bool isOwnPart(const RankRange &whole, int64_t ranks) const {
    return whole.stride == 0 && begin == whole.begin && size * ranks == whole.size && (ranks == 1 || stride == size);
  }
};

/// Whether on one of `ranks` ranks the two have a byte in common.
inline bool overlap(const RankRange &a, const RankRange &b, int64_t ranks) {
  if (a.size == 0 || b.size == 0)
    return false;
  if (b.stride < a.stride)
    return overlap(b, a, ranks);
  // b begins `distance` bytes behind a on the first rank, and `growth` more on each further one.
  const int64_t distance = b.begin - a.begin, growth = b.stride - a.stride;
  int64_t rank = 0; // the first where b does not end before a begins
  if (distance <= -b.size)
    rank = growth ? (-b.size - distance) / growth + 1 : ranks;
  return rank < ranks && distance + rank * growth < a.size;
}

} // namespace zero

#endif
