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
// are placed one by one at the lowest or smallest gap that is free while they live, in several orders; the tightest
// result is kept. While that takes more than what lives at one time, the buffer that ends highest is placed
// earlier and all are placed again, as often as a count of work allows: never by a clock, so that a plan is the
// same wherever it is made. Where thousands of buffers live at once they are placed in the order of time instead, in n log n, unless that
// takes a hundredth more than what lives at one time. Section `predict`, which shares no buffer with the step's sections, is packed by itself: what
// it needs moves nothing of theirs.
//
//===----------------------------------------------------------------------===//
#include "zero/Analysis/PlanMemory.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

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
};

/// For each buffer those that live at the same time, increasing.
using Neighbours = std::vector<SmallVector<unsigned, 8>>;

Neighbours findNeighbours(ArrayRef<TransientBuffer> buffers) {
  struct Begin {
    LiveRange range;
    unsigned index;
  };
  std::vector<Begin> begins;
  for (auto [index, buffer] : llvm::enumerate(buffers))
    for (const LiveRange &range : buffer.ranges)
      begins.push_back({range, static_cast<unsigned>(index)});
  llvm::sort(begins, [](const Begin &a, const Begin &b) {
    return std::tie(a.range.section, a.range.first, a.index) < std::tie(b.range.section, b.range.first, b.index);
  });
  Neighbours neighbours(buffers.size());
  std::vector<Begin> alive;
  for (const Begin &begin : begins) {
    llvm::erase_if(alive, [&](const Begin &other) {
      return other.range.section != begin.range.section || other.range.last < begin.range.first;
    });
    for (const Begin &other : alive) {
      neighbours[begin.index].push_back(other.index);
      neighbours[other.index].push_back(begin.index);
    }
    alive.push_back(begin);
  }
  // Those that meet in several sections once.
  for (SmallVector<unsigned, 8> &of : neighbours) {
    llvm::sort(of);
    of.erase(llvm::unique(of), of.end());
  }
  return neighbours;
}

/// Offsets of the buffers and the end of the highest.
struct Packing {
  std::vector<int64_t> offsets;
  int64_t end = 0;
};

enum class Gap { Lowest, Smallest };

/// Places the buffers in `order`, each in the lowest or smallest gap between those that live with it.
Packing pack(ArrayRef<TransientBuffer> buffers, const Neighbours &neighbours, ArrayRef<unsigned> order, Gap rule) {
  constexpr int64_t kNowhere = -1;
  Packing packing;
  packing.offsets.assign(buffers.size(), kNowhere);
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (unsigned index : order) {
    const TransientBuffer &buffer = buffers[index];
    taken.clear();
    for (unsigned other : neighbours[index])
      if (packing.offsets[other] != kNowhere)
        taken.push_back({packing.offsets[other], packing.offsets[other] + buffers[other].bytes});
    llvm::sort(taken);
    int64_t end = 0, best = kNowhere, bestGap = 0;
    for (auto [from, to] : taken) {
      int64_t gap = from - end;
      if (gap >= buffer.bytes && (best == kNowhere || (rule == Gap::Smallest && gap < bestGap))) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, to);
    }
    packing.offsets[index] = best == kNowhere ? end : best;
    packing.end = std::max(packing.end, packing.offsets[index] + buffer.bytes);
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

/// What placing all buffers once may cost in sum: a quarter of a second at most where nothing reaches the lower bound.
constexpr size_t kMostWork = size_t(1) << 25;
/// Orders times gaps that packTightly begins with.
constexpr size_t kStarts = 8;

/// How many pairs of buffers live at the same time, those that meet in several sections more than once.
size_t countNeighbours(ArrayRef<TransientBuffer> buffers) {
  std::vector<std::tuple<unsigned, int64_t, int>> changes; // section, command, ends before begins
  for (const TransientBuffer &buffer : buffers)
    for (const LiveRange &range : buffer.ranges) {
      changes.push_back({range.section, range.first, 1});
      changes.push_back({range.section, range.last + 1, -1});
    }
  llvm::sort(changes);
  size_t alive = 0, pairs = 0;
  for (auto [section, command, change] : changes) {
    pairs += change > 0 ? alive : 0;
    alive += change;
  }
  return pairs;
}

/// The bytes that are free at one command, and behind them all others.
class FreeBytes {
public:
  FreeBytes() { add(0, std::numeric_limits<int64_t>::max() / 2); }

  /// Takes the smallest gap that is large enough.
  int64_t take(int64_t bytes) {
    auto [size, begin] = *bySize.lower_bound({bytes, 0});
    remove(begin, size);
    if (size > bytes)
      add(begin + bytes, size - bytes);
    return begin;
  }
  /// Takes bytes that are free.
  void take(int64_t begin, int64_t bytes) {
    auto it = std::prev(byBegin.upper_bound(begin));
    auto [from, size] = *it;
    remove(from, size);
    if (begin > from)
      add(from, begin - from);
    if (from + size > begin + bytes)
      add(begin + bytes, from + size - begin - bytes);
  }
  void give(int64_t begin, int64_t bytes) {
    auto after = byBegin.lower_bound(begin);
    if (after != byBegin.end() && after->first == begin + bytes) {
      int64_t size = after->second;
      remove(begin + bytes, size);
      bytes += size;
    }
    auto before = byBegin.lower_bound(begin);
    if (before != byBegin.begin() && std::prev(before)->first + std::prev(before)->second == begin) {
      auto [from, size] = *std::prev(before);
      remove(from, size);
      begin = from;
      bytes += size;
    }
    add(begin, bytes);
  }

private:
  void add(int64_t begin, int64_t size) {
    byBegin.emplace(begin, size);
    bySize.emplace(size, begin);
  }
  void remove(int64_t begin, int64_t size) {
    byBegin.erase(begin);
    bySize.erase({size, begin});
  }
  std::map<int64_t, int64_t> byBegin;
  std::set<std::pair<int64_t, int64_t>> bySize;
};

/// Places buffers in the order of time, each in the smallest gap that is free then: n log n, and close to what lives at once where
/// buffers die in about the order in which they were born, or in its reverse. Those that live in several sections lie below the others.
Packing packByTime(ArrayRef<TransientBuffer> buffers) {
  Packing packing;
  packing.offsets.assign(buffers.size(), 0);
  std::map<unsigned, std::vector<std::pair<LiveRange, unsigned>>> sections;
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    if (buffer.ranges.size() > 1) {
      packing.offsets[index] = packing.end;
      packing.end += buffer.bytes;
    } else if (!buffer.ranges.empty()) {
      sections[buffer.ranges.front().section].push_back({buffer.ranges.front(), index});
    }
  }
  const int64_t start = packing.end;
  for (auto &[section, begins] : sections) {
    llvm::sort(begins, [&](const auto &a, const auto &b) {
      return std::tuple(a.first.first, -buffers[a.second].bytes, a.second) < std::tuple(b.first.first, -buffers[b.second].bytes, b.second);
    });
    FreeBytes free;
    std::set<std::pair<int64_t, unsigned>> alive; // by last command
    if (start)
      free.take(0, start);
    for (auto [range, index] : begins) {
      while (!alive.empty() && alive.begin()->first < range.first) {
        unsigned dead = alive.begin()->second;
        free.give(packing.offsets[dead], buffers[dead].bytes);
        alive.erase(alive.begin());
      }
      if (buffers[index].bytes == 0)
        continue;
      packing.offsets[index] = free.take(buffers[index].bytes);
      packing.end = std::max(packing.end, packing.offsets[index] + buffers[index].bytes);
      alive.insert({range.last, index});
    }
  }
  return packing;
}

Packing packTightly(ArrayRef<TransientBuffer> buffers, uint64_t &steps) {
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
  // Of thousands of buffers that live at once all pairs are too many to look at, and where the order of time does nearly as well
  // nobody has to.
  const size_t pairs = countNeighbours(buffers);
  if (pairs * kStarts > kMostWork) {
    steps += buffers.size();
    Packing byTime = packByTime(buffers);
    if (byTime.end - bound <= bound / 100)
      return byTime;
  }
  steps += pairs;
  const Neighbours neighbours = findNeighbours(buffers);
  struct Start {
    SmallVector<unsigned> order;
    Gap rule;
    int64_t end;
    size_t number;
  };
  SmallVector<Start> starts;
  std::optional<Packing> best;
  auto keep = [&](Packing packing) {
    if (!best || packing.end < best->end)
      best = std::move(packing);
    return best->end == bound;
  };
  for (Less less : {Less(larger), Less(heavier), Less(longer), Less(earlier)}) {
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, buffers.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return less(buffers[a], buffers[b]) || (!less(buffers[b], buffers[a]) && a < b);
    });
    for (Gap rule : {Gap::Lowest, Gap::Smallest}) {
      Packing packing = pack(buffers, neighbours, order, rule);
      starts.push_back({order, rule, packing.end, starts.size()});
      if (keep(std::move(packing)))
        return *best;
    }
  }
  // From the best orders on: what ends highest had too little choice.
  llvm::sort(starts, [](const Start &a, const Start &b) { return std::tie(a.end, a.number) < std::tie(b.end, b.number); });
  size_t work = 1;
  for (const SmallVector<unsigned, 8> &of : neighbours)
    work += of.size() + 1;
  const size_t rounds = kMostWork / (work * starts.size() * 8);
  for (Start &start : starts) {
    for (size_t round = 0; round < rounds; ++round) {
      Packing packing = pack(buffers, neighbours, start.order, start.rule);
      auto highest = llvm::find_if(start.order, [&](unsigned index) {
        return packing.offsets[index] + buffers[index].bytes == packing.end;
      });
      if (keep(std::move(packing)))
        return *best;
      if (highest == start.order.begin())
        break;
      // In front of half of those before it.
      auto place = start.order.begin() + (highest - start.order.begin()) / 2;
      std::rotate(place, highest, highest + 1);
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
  int64_t place(const PlanMemory &memory, ArrayRef<TransientBuffer> buffers, int64_t start) {
    uint64_t steps = 0;
    Packing packing = packTightly(buffers, steps);
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
