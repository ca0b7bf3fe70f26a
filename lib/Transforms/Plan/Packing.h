//===- Packing.h - Offsets of buffers that live by turns ------------------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_PACKING_H
#define ZERO_LIB_TRANSFORMS_PLAN_PACKING_H

#include "zero/Analysis/PlanMemory.h"

namespace zero {

struct TransientBuffer {
  unsigned number;
  int64_t bytes; // a multiple of the alignment
  llvm::SmallVector<LiveRange, 1> ranges;

  int64_t getLength() const {
    int64_t length = 0;
    for (const LiveRange &range : ranges)
      length += range.last - range.first + 1;
    return length;
  }
  /// Whether it lives in more than one section.
  bool spansSections() const {
    return llvm::any_of(ranges, [&](const LiveRange &range) { return range.section != ranges.front().section; });
  }
};

/// Offsets of the buffers and the end of the highest.
struct Packing {
  std::vector<int64_t> offsets;
  int64_t end = 0;
};

/// No packing is smaller than what lives at one time.
int64_t getLowerBound(llvm::ArrayRef<TransientBuffer> buffers);

/// Places buffers in the order of time, each in the smallest gap that is free then: n log n, and close to what lives at once where
/// buffers die in about the order in which they were born, or in its reverse. Those that live in several sections lie below the others.
Packing packByTime(llvm::ArrayRef<TransientBuffer> buffers);

/// The tightest packing that several orders and a search from the best of them find, or the first that ends at `enough`. `steps` counts pairs
/// of buffers that live at once, or buffers where those are too many to look at.
Packing packTightly(llvm::ArrayRef<TransientBuffer> buffers, int64_t enough, uint64_t &steps);

} // namespace zero

#endif
