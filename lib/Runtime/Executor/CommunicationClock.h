//===- CommunicationClock.h - How long collectives take, and hold up ------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_COMMUNICATIONCLOCK_H
#define ZERO_LIB_RUNTIME_EXECUTOR_COMMUNICATIONCLOCK_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace zero {

/// The time during which at least one collective of a rank is under way; several queues use it.
class CommunicationClock {
public:
  using Clock = std::chrono::steady_clock;

  void begin() {
    std::lock_guard lock(mutex);
    if (running++ == 0)
      since = Clock::now();
  }
  void end() {
    std::lock_guard lock(mutex);
    if (--running == 0)
      total += Clock::now() - since;
  }
  double seconds() const {
    std::lock_guard lock(mutex);
    return std::chrono::duration<double>(total).count();
  }

private:
  mutable std::mutex mutex;
  unsigned running = 0;
  Clock::time_point since;
  Clock::duration total = {};
};

/// The same of collectives that are heard of after they have ended, in any order.
class CommunicationIntervals {
public:
  /// Nanoseconds of a steady clock.
  void add(int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    intervals.emplace_back(begin, end);
    if (intervals.size() == kMost)
      fold();
  }
  /// Of what was added so far. What is added later and lies before it, in time, is not counted.
  double seconds() {
    std::lock_guard lock(mutex);
    fold();
    return static_cast<double>(total) * 1e-9;
  }

private:
  static constexpr size_t kMost = 4096;
  void fold() {
    std::sort(intervals.begin(), intervals.end());
    for (auto [begin, end] : intervals) {
      total += std::max<int64_t>(end - std::max(begin, covered), 0);
      covered = std::max(covered, end);
    }
    intervals.clear();
  }

  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> intervals;
  int64_t covered = 0, total = 0;
};

} // namespace zero

#endif
