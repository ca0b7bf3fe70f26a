//===- CommunicationClock.h - How long collectives take, and hold up ------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_COMMUNICATIONCLOCK_H
#define ZERO_LIB_RUNTIME_EXECUTOR_COMMUNICATIONCLOCK_H

#include <chrono>
#include <mutex>

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

} // namespace zero

#endif
