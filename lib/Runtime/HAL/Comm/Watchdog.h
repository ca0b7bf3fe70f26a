//===- Watchdog.h - Bounds a call that has no time-out of its own ---------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_WATCHDOG_H
#define ZERO_LIB_RUNTIME_HAL_COMM_WATCHDOG_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace zero {

/// Calls `late` from a thread of its own where the watchdog still lives after `seconds`.
class Watchdog {
public:
  Watchdog(double seconds, std::function<void()> late)
      : late(std::move(late)), thread([this, seconds] { serve(seconds); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_all();
    thread.join();
  }

private:
  void serve(double seconds) {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done; }))
      late();
  }

  std::function<void()> late;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread thread;
};

} // namespace zero

#endif
