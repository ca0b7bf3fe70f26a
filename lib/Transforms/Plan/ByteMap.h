//===- ByteMap.h - What each byte of the arenas holds ---------------------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_BYTEMAP_H
#define ZERO_LIB_TRANSFORMS_PLAN_BYTEMAP_H

#include "CommandOrder.h"
#include <map>

namespace zero {

/// What bytes on one rank are to the same bytes on others.
enum class ByteRelation {
  Same,  ///< equal
  Range, ///< each rank's range of one thing
  Local, ///< what this rank's data give
};

struct ByteContents {
  static constexpr int kNobody = -1;
  int owner = kNobody; ///< the buffer through which they were written; nobody: no use of them is right
  ByteRelation relation = ByteRelation::Same;
  bool reduced = false; ///< a sum over all ranks
  bool updated = false; ///< written in `update` from a sum over all ranks of as many bytes
  /// Of bytes that each rank wrote in its own range: rank r wrote [first + r stride, + size); stride 0: all wrote all.
  int64_t first = 0, size = 0, stride = 0;

  bool operator==(const ByteContents &) const = default;
};

struct ByteRange {
  ByteContents contents;
  mlir::Operation *writtenBy = nullptr; ///< in any section; null: by the runtime, or nobody
  int writer = -1;                      ///< the command of the running section that wrote last, or -1
  std::array<int, kQueueKinds> readers = {-1, -1, -1}; ///< the last command of each queue that read since
};

/// The address space (all arenas, one behind the other) in ranges of which all bytes have the same history.
class ByteMap {
public:
  /// Calls `visit(begin, end, range)` for each range within [begin, end) after cutting at both ends; stops at a failure.
  mlir::LogicalResult visit(int64_t begin, int64_t end,
                            llvm::function_ref<mlir::LogicalResult(int64_t, int64_t, ByteRange &)> visitor) {
    if (begin >= end)
      return mlir::success();
    auto it = cut(begin), last = cut(end);
    for (; it != last; ++it)
      if (failed(visitor(it->first, std::next(it)->first, it->second)))
        return mlir::failure();
    return mlir::success();
  }

  /// Makes [begin, end) one range.
  void assign(int64_t begin, int64_t end, const ByteRange &range) {
    if (begin >= end)
      return;
    auto first = cut(begin), last = cut(end);
    first->second = range;
    ranges.erase(std::next(first), last);
  }

private:
  /// Ranges are kept by their first byte; each ends where the next begins, the last nowhere.
  std::map<int64_t, ByteRange>::iterator cut(int64_t at) {
    auto next = ranges.lower_bound(at);
    if (next != ranges.end() && next->first == at)
      return next;
    return ranges.emplace_hint(next, at, std::prev(next)->second);
  }
  std::map<int64_t, ByteRange> ranges = {{0, {}}};
};

static_assert(kQueueKinds == 3, "readers has one place for each queue");

} // namespace zero

#endif
