//===- PackByTime.cpp - Buffers placed in the order of time ---------------===//
#include "Packing.h"
#include <map>
#include <set>

using namespace mlir;

namespace zero {
namespace {

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

} // namespace

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

} // namespace zero
