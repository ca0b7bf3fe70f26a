//===- RankRange.h - Bytes that each rank has at a place of its own -------===//
//
// Standard library only: the compiler proves with it what the runtime checks again at start.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_RANKRANGE_H
#define ZERO_RUNTIME_HAL_RANKRANGE_H

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace zero {

/// Rank r has the bytes [begin + r stride, begin + r stride + size) of an arena. No number is negative, nor does an end overflow.
struct RankRange {
  int64_t begin, size, stride;

  bool operator==(const RankRange &) const = default;

  /// Whether each rank has its part of `whole`, in rank order.
  bool isOwnPart(const RankRange &whole, int64_t ranks) const {
    return whole.stride == 0 && begin == whole.begin && size * ranks == whole.size && (ranks == 1 || stride == size);
  }
  /// Behind the last byte of the last rank.
  int64_t end(int64_t ranks) const { return begin + size + stride * (ranks - 1); }
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

/// What a command does with bytes; those of different arenas are never the same.
struct RankAccess {
  RankRange range;
  unsigned arena;
  bool write;
  unsigned index; ///< among the reads or the writes
};

/// Calls `meet(a, b)`, b behind a in the arena, for accesses (of type RankAccess) of which one writes that have a byte in common on one of `ranks` ranks, until it
/// gives false. Whether it never did. Near-linear, as few operands of a command overlap.
template <typename Access, typename Meet> bool forEachOverlap(std::vector<Access> accesses, int64_t ranks, Meet meet) {
  std::ranges::sort(accesses, {}, [](const Access &access) { return std::tuple(access.arena, access.range.begin, access.write, access.index); });
  std::vector<const Access *> reads, writes; // that may reach further
  for (const Access &access : accesses) {
    for (std::vector<const Access *> *earlier : {&reads, &writes}) {
      if (earlier == &reads && !access.write)
        continue;
      std::erase_if(*earlier, [&](const Access *other) { return other->arena != access.arena || other->range.end(ranks) <= access.range.begin; });
      for (const Access *other : *earlier)
        if (overlap(access.range, other->range, ranks) && !meet(*other, access))
          return false;
    }
    (access.write ? writes : reads).push_back(&access);
  }
  return true;
}

} // namespace zero

#endif
