//===- AssignOffsets.cpp - plan-assign-offsets ----------------------------===//
//
//   plan.arena @device {kind = .., size_bytes = 0}
//   plan.buffer @weights in @device {size_bytes = 256, state, ..}
//   plan.buffer @a in @device {size_bytes = 64, ..}
//   plan.buffer @b in @device {size_bytes = 64, ..}
//   plan.buffer @c in @device {size_bytes = 64, ..}
//   plan.section @micro_first { a = f(weights); b = g(a); c = h(b) }
//
// becomes
//
//   plan.arena @device {kind = .., size_bytes = 384}
//   plan.buffer @weights .. {offset = 0, ..}
//   plan.buffer @a .. {offset = 256, ..}
//   plan.buffer @b .. {offset = 320, ..}
//   plan.buffer @c .. {offset = 256, ..}
//
// States lie one after the other; behind them every section uses the same bytes for what lives in it. Buffers
// are placed one by one at the smallest gap that is free while they live, in several orders; the tightest
// result is kept. Section `predict`, which shares no buffer with the step's sections, is packed by itself: what
// it needs moves nothing of theirs.
//
//===----------------------------------------------------------------------===//
#include "zero/Analysis/PlanMemory.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANASSIGNOFFSETS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

constexpr int64_t kAlignment = plan::kBufferAlignment;

struct TransientBuffer {
  unsigned number;
  int64_t bytes; // a multiple of the alignment
  SmallVector<LiveRange, 1> ranges;

  int64_t getLength() const {
    int64_t length = 0;
    for (const LiveRange &range : ranges)
      length += range.last - range.first + 1;
    return length;
  }
  bool overlaps(const TransientBuffer &other) const {
    return llvm::any_of(ranges, [&](const LiveRange &a) {
      return llvm::any_of(other.ranges, [&](const LiveRange &b) { return a.overlaps(b); });
    });
  }
};

/// Offsets of the buffers and the end of the highest.
struct Packing {
  std::vector<int64_t> offsets;
  int64_t end = 0;
};

enum class Gap { Lowest, Smallest };

/// Places the buffers in `order`, each in the lowest or smallest gap between those that live with it.
Packing pack(ArrayRef<TransientBuffer> buffers, ArrayRef<unsigned> order, Gap rule) {
  Packing packing;
  packing.offsets.assign(buffers.size(), 0);
  SmallVector<unsigned> placed;
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (unsigned index : order) {
    const TransientBuffer &buffer = buffers[index];
    taken.clear();
    for (unsigned other : placed)
      if (buffer.overlaps(buffers[other]))
        taken.push_back({packing.offsets[other], packing.offsets[other] + buffers[other].bytes});
    llvm::sort(taken);
    int64_t end = 0, best = -1, bestGap = 0;
    for (auto [from, to] : taken) {
      int64_t gap = from - end;
      if (gap >= buffer.bytes && (best < 0 || (rule == Gap::Smallest && gap < bestGap))) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, to);
    }
    packing.offsets[index] = best < 0 ? end : best;
    packing.end = std::max(packing.end, packing.offsets[index] + buffer.bytes);
    placed.push_back(index);
  }
  return packing;
}

/// No packing is smaller than what lives at one time.
int64_t getLowerBound(ArrayRef<TransientBuffer> buffers) {
  std::map<std::pair<unsigned, int64_t>, int64_t> changes;
  for (const TransientBuffer &buffer : buffers) {
    for (const LiveRange &range : buffer.ranges) {
      changes[{range.section, range.first}] += buffer.bytes;
      changes[{range.section, range.last + 1}] -= buffer.bytes;
    }
  }
  int64_t live = 0, most = 0;
  for (auto [at, change] : changes)
    most = std::max(most, live += change);
  return most;
}

Packing packTightly(ArrayRef<TransientBuffer> buffers) {
  using Less = llvm::function_ref<bool(const TransientBuffer &, const TransientBuffer &)>;
  auto larger = [](const TransientBuffer &a, const TransientBuffer &b) { return a.bytes > b.bytes; };
  auto longer = [](const TransientBuffer &a, const TransientBuffer &b) {
    return a.getLength() > b.getLength();
  };
  auto heavier = [](const TransientBuffer &a, const TransientBuffer &b) {
    return double(a.bytes) * double(a.getLength()) > double(b.bytes) * double(b.getLength());
  };
  auto earlier = [](const TransientBuffer &a, const TransientBuffer &b) {
    auto start = [](const TransientBuffer &buffer) {
      return buffer.ranges.empty() ? std::pair(~0u, int64_t(0))
                                   : std::pair(buffer.ranges.front().section, buffer.ranges.front().first);
    };
    return start(a) < start(b);
  };
  const int64_t bound = getLowerBound(buffers);
  std::optional<Packing> best;
  for (Less less : {Less(larger), Less(heavier), Less(longer), Less(earlier)}) {
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, buffers.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return less(buffers[a], buffers[b]) || (!less(buffers[b], buffers[a]) && a < b);
    });
    for (Gap rule : {Gap::Lowest, Gap::Smallest}) {
      Packing packing = pack(buffers, order, rule);
      if (!best || packing.end < best->end)
        best = std::move(packing);
      if (best->end == bound)
        return *best;
    }
  }
  return *best;
}

class PlanAssignOffsets : public impl::PlanAssignOffsetsBase<PlanAssignOffsets> {
public:
  using PlanAssignOffsetsBase::PlanAssignOffsetsBase;
  void runOnOperation() override {
    PlanMemory memory(getOperation());
    std::vector<SmallVector<LiveRange, 1>> ranges = memory.computeLiveRanges();
    for (auto arena : getOperation().getOps<plan::ArenaOp>())
      assign(memory, ranges, arena);
  }

private:
  void assign(const PlanMemory &memory, ArrayRef<SmallVector<LiveRange, 1>> ranges, plan::ArenaOp arena) {
    int64_t stateBytes = 0;
    std::vector<TransientBuffer> transients;
    for (auto [number, declared] : llvm::enumerate(memory.getBuffers())) {
      plan::BufferOp buffer = declared;
      if (buffer.getArena() != arena.getSymName())
        continue;
      int64_t bytes = llvm::alignTo(static_cast<int64_t>(buffer.getSizeBytes()), kAlignment);
      if (buffer.getState()) {
        buffer.setOffset(stateBytes);
        stateBytes += bytes;
      } else {
        transients.push_back({static_cast<unsigned>(number), bytes, ranges[number]});
      }
    }
    // A buffer that no command touches overlaps nothing.
    std::vector<TransientBuffer> ofStep, ofPredict;
    bool shared = false;
    for (const TransientBuffer &buffer : transients) {
      size_t predicting = llvm::count_if(
          buffer.ranges, [&](const LiveRange &range) { return isPredict(memory, range); });
      (predicting == buffer.ranges.size() ? ofPredict : ofStep).push_back(buffer);
      shared |= predicting != 0 && predicting != buffer.ranges.size();
    }
    int64_t end = shared ? place(memory, transients, stateBytes)
                         : std::max(place(memory, ofStep, stateBytes), place(memory, ofPredict, stateBytes));
    arena.setSizeBytes(end);
    arenaBytes += end;
    lowerBoundBytes += stateBytes + getLowerBound(transients);
  }

  static bool isPredict(const PlanMemory &memory, const LiveRange &range) {
    plan::SectionOp section = memory.getSections()[range.section];
    return section.getSymName() == "predict";
  }

  /// Gives buffers that never live with others their offsets, from `start` on; where they end.
  static int64_t place(const PlanMemory &memory, ArrayRef<TransientBuffer> buffers, int64_t start) {
    Packing packing = packTightly(buffers);
    for (auto [index, buffer] : llvm::enumerate(buffers)) {
      plan::BufferOp op = memory.getBuffers()[buffer.number];
      op.setOffset(start + packing.offsets[index]);
    }
    return start + packing.end;
  }
};

} // namespace
} // namespace zero
