//===- CpuEvent.h - A counter to wait for ---------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CPU_CPUEVENT_H
#define ZERO_LIB_RUNTIME_HAL_CPU_CPUEVENT_H

#include "zero/Runtime/HAL/Event.h"
#include <condition_variable>

namespace zero {

class CpuEvent final : public Event {
public:
  ~CpuEvent() override { std::lock_guard lock(mutex); } // who has seen the value may end it while `record` still wakes others
  void record(uint64_t value) override {
    std::lock_guard lock(mutex);
    counter.store(value, std::memory_order_release);
    changed.notify_all();
  }

  bool wait(uint64_t value, const Failure &failure) override {
    if (counter.load(std::memory_order_acquire) >= value)
      return true;
    std::unique_lock lock(mutex);
    // Woken by `record`; a failure elsewhere is noticed within the interval.
    while (counter.load(std::memory_order_relaxed) < value) {
      if (failure.raised())
        return false;
      changed.wait_for(lock, std::chrono::milliseconds(50));
    }
    return true;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<uint64_t> counter = 0;
};

} // namespace zero

#endif
