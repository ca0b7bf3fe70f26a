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
// States lie one after the other; behind them every section uses the same bytes for what lives in it (PackTightly.cpp, PackByTime.cpp).
// Section `predict`, which shares no buffer with the step's sections, is packed by itself: what it needs moves nothing of theirs.
//
//===----------------------------------------------------------------------===//
#include "Packing.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANASSIGNOFFSETS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

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
    const int64_t alignment = plan::getBufferAlignment(getOperation());
    int64_t stateBytes = 0;
    std::vector<TransientBuffer> transients;
    for (auto [number, declared] : llvm::enumerate(memory.getBuffers())) {
      plan::BufferOp buffer = declared;
      if (buffer.getArena() != arena.getSymName())
        continue;
      int64_t bytes = llvm::alignTo(static_cast<int64_t>(buffer.getSizeBytes()), alignment);
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
    const int64_t bound = getLowerBound(transients);
    int64_t end;
    if (shared) {
      end = place(memory, transients, stateBytes, bound);
    } else {
      end = place(memory, ofStep, stateBytes, bound);
      end = std::max(end, place(memory, ofPredict, stateBytes, std::max(bound, end - stateBytes)));
    }
    arena.setSizeBytes(end);
    arenaBytes += end;
    lowerBoundBytes += stateBytes + bound;
  }

  static bool isPredict(const PlanMemory &memory, const LiveRange &range) {
    plan::SectionOp section = memory.getSections()[range.section];
    return section.getSymName() == "predict";
  }

  /// Gives buffers that never live with others their offsets, from `start` on; where they end. Nothing is won below `enough` bytes.
  int64_t place(const PlanMemory &memory, ArrayRef<TransientBuffer> buffers, int64_t start, int64_t enough) {
    uint64_t steps = 0;
    Packing packing = packTightly(buffers, enough, steps);
    packingSteps += steps;
    for (auto [index, buffer] : llvm::enumerate(buffers)) {
      plan::BufferOp op = memory.getBuffers()[buffer.number];
      op.setOffset(start + packing.offsets[index]);
    }
    return start + packing.end;
  }
};

} // namespace
} // namespace zero
