//===- PackTightly.cpp - Buffers placed by several orders, and a search ---===//
//
// Buffers are placed one by one, each at the lowest or smallest gap that is free while it lives, in several orders (by bytes, lifetime, products of the
// two, start, end); the tightest result is kept. Where none ends at what lives at one time:
//
// - sections are tied to one another by the few buffers that live in several of them (staging, gathers that start a section early). With these
//   where an order put them, each section takes the order that is best for it alone;
// - then one buffer after the other is placed earlier than one that lives with it, and what that moves is placed again, in the section that ends
//   highest; a move that makes it end higher is taken back. Half of the moves are of what ends highest: it had too little choice.
//
// Work is limited by a count, never by a clock, and numbers are rounded the same everywhere: so are plans, wherever they are made. Where thousands of
// buffers live at once they are placed in the order of time instead, unless that takes a hundredth more than what lives at one time.
//
//===----------------------------------------------------------------------===//
#include "Packing.h"
#include <cmath>
#include <map>
#include <random>

using namespace mlir;

namespace zero {
namespace {

constexpr int64_t kNowhere = -1;

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

/// What packing may look at pairs for: all orders together, and the search from the best of them (tens of milliseconds each).
constexpr uint64_t kMostWork = uint64_t(1) << 25, kSearchWork = uint64_t(1) << 23;
/// Orders times gaps that are tried whatever they cost.
constexpr size_t kStarts = 8;
/// Places of what spans sections that the search goes on from.
constexpr size_t kLayouts = 3;

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

enum class Gap { Lowest, Smallest };

/// Buffers in the order in which they are placed.
struct Order {
  SmallVector<unsigned> buffers;
  Gap rule;
};

/// Where a buffer lies best between ranges that are taken.
int64_t choosePlace(SmallVectorImpl<std::pair<int64_t, int64_t>> &taken, int64_t bytes, Gap rule) {
  llvm::sort(taken);
  int64_t end = 0, best = kNowhere, bestGap = 0;
  for (auto [from, to] : taken) {
    int64_t gap = from - end;
    if (gap >= bytes && (best == kNowhere || (rule == Gap::Smallest && gap < bestGap))) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, to);
  }
  return best == kNowhere ? end : best;
}

/// Buffers of a section, or of all, placed in an order that is improved move by move.
class Placement {
public:
  /// Buffers with an offset in `fixed` stay there; the others are those of `order`, or are left out.
  Placement(ArrayRef<TransientBuffer> buffers, const Neighbours &neighbours, Order order, ArrayRef<int64_t> fixed)
      : buffers(buffers), neighbours(&neighbours), order(std::move(order)), offsets(fixed.vec()), ranks(buffers.size(), kLeftOut), isDirty(buffers.size()) {
    for (auto [index, offset] : llvm::enumerate(fixed))
      if (offset != kNowhere)
        ranks[index] = kFixed;
    for (auto [rank, index] : llvm::enumerate(this->order.buffers)) {
      ranks[index] = rank;
      offsets[index] = findPlace(index);
    }
    findEnd();
  }

  int64_t getEnd() const { return end; }
  uint64_t getWork() const { return work; }
  const Order &getOrder() const { return order; }
  ArrayRef<int64_t> getOffsets() const { return offsets; }

  /// Places one of two buffers that live at once before the other, and again whatever that moves, unless it makes the highest end higher.
  template <typename Random> void move(Random &random) {
    work += order.buffers.size() / 8 + 1;
    ArrayRef<unsigned> all = order.buffers;
    unsigned index = random() % 2 ? findHighest(random()) : all[random() % all.size()];
    ArrayRef<unsigned> others = (*neighbours)[index];
    if (others.empty())
      return;
    unsigned other = others[random() % others.size()];
    if (ranks[other] >= 0 && ranks[other] != kLeftOut)
      place(std::max(ranks[index], ranks[other]), std::min(ranks[index], ranks[other]));
  }

private:
  static constexpr int kFixed = -1, kLeftOut = std::numeric_limits<int>::max();

  int64_t findPlace(unsigned index) {
    taken.clear();
    for (unsigned other : (*neighbours)[index])
      if (ranks[other] < ranks[index])
        taken.push_back({offsets[other], offsets[other] + buffers[other].bytes});
    work += (*neighbours)[index].size() + 1;
    return choosePlace(taken, buffers[index].bytes, order.rule);
  }

  void findEnd() {
    end = 0;
    for (unsigned index : order.buffers)
      end = std::max(end, offsets[index] + buffers[index].bytes);
  }

  unsigned findHighest(uint64_t which) const {
    SmallVector<unsigned, 4> highest;
    for (unsigned index : order.buffers)
      if (offsets[index] + buffers[index].bytes == end)
        highest.push_back(index);
    return highest[which % highest.size()];
  }

  /// Gives ranks [first, last] to those that have them now, one further on.
  void rotate(int first, int middle, int last) {
    std::rotate(order.buffers.begin() + first, order.buffers.begin() + middle, order.buffers.begin() + last);
    for (int rank = first; rank < last; ++rank)
      ranks[order.buffers[rank]] = rank;
  }

  void place(int from, int to) {
    unsigned moved = order.buffers[from];
    rotate(to, from, from + 1);
    isDirty[moved] = true;
    for (unsigned other : (*neighbours)[moved])
      isDirty[other] = isDirty[other] || (ranks[other] > to && ranks[other] <= from);
    changed.clear();
    for (int rank = to, count = order.buffers.size(); rank < count; ++rank) {
      unsigned index = order.buffers[rank];
      if (!isDirty[index])
        continue;
      isDirty[index] = false;
      int64_t offset = findPlace(index);
      if (offset == offsets[index])
        continue;
      if (offset + buffers[index].bytes > end) {
        takeBack(from, to);
        return;
      }
      changed.push_back({index, offsets[index]});
      offsets[index] = offset;
      work += (*neighbours)[index].size();
      for (unsigned other : (*neighbours)[index])
        isDirty[other] = isDirty[other] || (ranks[other] > rank && ranks[other] != kLeftOut);
    }
    findEnd();
  }

  void takeBack(int from, int to) {
    for (auto [index, offset] : llvm::reverse(changed))
      offsets[index] = offset;
    rotate(to, to + 1, from + 1);
    llvm::fill(isDirty, false);
  }

  ArrayRef<TransientBuffer> buffers;
  const Neighbours *neighbours;
  Order order;
  std::vector<int64_t> offsets;
  std::vector<int> ranks; // places in the order
  std::vector<char> isDirty;
  int64_t end = 0;
  uint64_t work = 0;
  SmallVector<std::pair<int64_t, int64_t>> taken;
  SmallVector<std::pair<unsigned, int64_t>> changed; // with their offsets before
};

/// What orders buffers, larger keys first. Roots are exact to the last bit, powers are not.
std::vector<std::vector<double>> makeKeys(ArrayRef<TransientBuffer> buffers) {
  std::vector<std::vector<double>> keys;
  auto add = [&](auto key) { keys.emplace_back(llvm::map_range(buffers, key).begin(), llvm::map_range(buffers, key).end()); };
  using Buffer = const TransientBuffer &;
  auto length = [](Buffer buffer) { return static_cast<double>(buffer.getLength()); };
  auto bytes = [](Buffer buffer) { return static_cast<double>(buffer.bytes); };
  // Commands of all sections in one row.
  auto place = [](unsigned section, int64_t command) { return std::ldexp(section, 32) + static_cast<double>(command); };
  add(bytes);
  add([&](Buffer buffer) { return bytes(buffer) * length(buffer); });
  add(length);
  add([&](Buffer buffer) { return buffer.ranges.empty() ? -std::ldexp(1, 64) : -place(buffer.ranges.front().section, buffer.ranges.front().first); });
  // The square, fourth and eighth root of the lifetime, and products of these.
  for (unsigned eighths : {2, 1, 3, 4, 6})
    add([&](Buffer buffer) {
      double root = std::sqrt(length(buffer)), key = bytes(buffer);
      for (unsigned bit = 4; bit != 0; bit /= 2, root = std::sqrt(root))
        key *= eighths & bit ? root : 1;
      return key;
    });
  add([&](Buffer buffer) { return buffer.ranges.empty() ? 0 : place(buffer.ranges.back().section, buffer.ranges.back().last); });
  return keys;
}

class Packer {
public:
  Packer(ArrayRef<TransientBuffer> buffers, int64_t enough)
      : buffers(buffers), enough(enough), neighbours(findNeighbours(buffers)), keys(makeKeys(buffers)) {
    best.end = std::numeric_limits<int64_t>::max();
  }

  Packing run() {
    SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, buffers.size()));
    std::vector<Placement> starts;
    const std::vector<int64_t> nothing(buffers.size(), kNowhere);
    tryOrders(all, nothing, enough, [&](Placement placement) { starts.push_back(std::move(placement)); });
    for (const Placement &start : starts)
      if (keep({start.getOffsets().vec(), start.getEnd()}))
        return best;
    if (work >= kMostWork)
      return best;
    std::vector<Layout> layouts = makeLayouts(starts);
    SmallVector<size_t> order = sortByEnd(ArrayRef(layouts));
    order.truncate(std::min(order.size(), kLayouts));
    for (size_t number : order)
      if (search(layouts[number], kSearchWork / order.size()))
        break;
    return best;
  }

private:
  /// Places of the buffers that span sections, and sections of their own.
  struct Layout {
    std::vector<int64_t> fixed;
    int64_t fixedEnd = 0;
    std::vector<Placement> sections;

    int64_t getEnd() const {
      int64_t end = fixedEnd;
      for (const Placement &section : sections)
        end = std::max(end, section.getEnd());
      return end;
    }
    Packing getPacking() const {
      Packing packing = {fixed, getEnd()};
      for (const Placement &section : sections)
        for (unsigned index : section.getOrder().buffers)
          packing.offsets[index] = section.getOffsets()[index];
      return packing;
    }
  };

  /// The numbers of those that end lowest first.
  template <typename Ending> static SmallVector<size_t> sortByEnd(ArrayRef<Ending> all) {
    SmallVector<std::pair<int64_t, size_t>> ends;
    for (auto [number, one] : llvm::enumerate(all))
      ends.push_back({one.getEnd(), number});
    llvm::sort(ends);
    return llvm::map_to_vector(ends, [](auto each) { return each.second; });
  }

  bool keep(Packing packing) {
    if (packing.end < best.end)
      best = std::move(packing);
    return best.end <= enough;
  }

  /// Places `some` around what is fixed in each order, until one ends at `limit`.
  template <typename Take> void tryOrders(ArrayRef<unsigned> some, ArrayRef<int64_t> fixed, int64_t limit, Take take) {
    size_t tried = 0;
    for (ArrayRef<double> key : keys) {
      Order order{llvm::to_vector(some), Gap::Lowest};
      llvm::sort(order.buffers, [&](unsigned a, unsigned b) { return std::pair(-key[a], a) < std::pair(-key[b], b); });
      for (Gap rule : {Gap::Lowest, Gap::Smallest}) {
        if (tried++ >= kStarts && work >= kMostWork)
          return;
        order.rule = rule;
        Placement placement(buffers, neighbours, order, fixed);
        work += placement.getWork();
        const bool ends = placement.getEnd() <= limit;
        take(std::move(placement));
        if (ends)
          return;
      }
    }
  }

  /// From the tightest start on.
  std::vector<Layout> makeLayouts(ArrayRef<Placement> starts) {
    SmallVector<unsigned> spanning;
    std::map<unsigned, SmallVector<unsigned>> sections;
    for (auto [index, buffer] : llvm::enumerate(buffers)) {
      if (buffer.spansSections())
        spanning.push_back(index);
      else
        sections[buffer.ranges.empty() ? ~0u : buffer.ranges.front().section].push_back(index);
    }
    std::vector<Layout> layouts;
    for (size_t number : sortByEnd(starts)) {
      const Placement &start = starts[number];
      Layout layout;
      layout.fixed.assign(buffers.size(), kNowhere);
      for (unsigned index : spanning) {
        layout.fixed[index] = start.getOffsets()[index];
        layout.fixedEnd = std::max(layout.fixedEnd, layout.fixed[index] + buffers[index].bytes);
      }
      if (llvm::any_of(layouts, [&](const Layout &other) { return other.fixed == layout.fixed; }))
        continue;
      for (const auto &[section, own] : sections) {
        std::optional<Placement> tightest;
        tryOrders(own, layout.fixed, enough, [&](Placement placement) {
          if (!tightest || placement.getEnd() < tightest->getEnd())
            tightest.emplace(std::move(placement));
        });
        layout.sections.push_back(std::move(*tightest));
      }
      layouts.push_back(std::move(layout));
      if (keep(layouts.back().getPacking()) || work >= kMostWork)
        break;
    }
    return layouts;
  }

  /// Whether it came to what is enough.
  bool search(Layout &layout, uint64_t most) {
    if (best.end <= enough)
      return true;
    std::mt19937_64 random(1);
    for (uint64_t used = 0; used < most;) {
      auto highest = llvm::max_element(layout.sections, [](const Placement &a, const Placement &b) { return a.getEnd() < b.getEnd(); });
      if (highest == layout.sections.end() || highest->getEnd() <= layout.fixedEnd)
        break;
      const int64_t end = highest->getEnd();
      const uint64_t before = highest->getWork();
      highest->move(random);
      used += highest->getWork() - before;
      if (highest->getEnd() < end && keep(layout.getPacking()))
        return true;
    }
    return false;
  }

  ArrayRef<TransientBuffer> buffers;
  const int64_t enough;
  const Neighbours neighbours;
  const std::vector<std::vector<double>> keys;
  Packing best;
  uint64_t work = 0;
};

} // namespace

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

Packing packTightly(ArrayRef<TransientBuffer> buffers, int64_t enough, uint64_t &steps) {
  // Of thousands of buffers that live at once all pairs are too many to look at, and where the order of time does nearly as well
  // nobody has to.
  const size_t pairs = countNeighbours(buffers);
  if (pairs * kStarts > kMostWork) {
    steps += buffers.size();
    Packing byTime = packByTime(buffers);
    if (byTime.end - enough <= enough / 100)
      return byTime;
  }
  steps += pairs;
  return Packer(buffers, enough).run();
}

} // namespace zero
