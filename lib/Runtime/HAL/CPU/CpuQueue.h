//===- CpuQueue.h - The queue of the calling thread -----------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CPU_CPUQUEUE_H
#define ZERO_LIB_RUNTIME_HAL_CPU_CPUQUEUE_H

#include "zero/Runtime/HAL/Device.h"
#include <atomic>
#include <chrono>

namespace zero {

/// Runs everything at once, on the thread that submits.
class InlineQueue final : public Queue {
public:
  explicit InlineQueue(Failure &failure) : failure(failure) {}

  void wait(Event &event, uint64_t value) override {
    if (failure.raised())
      return;
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin = Clock::now();
    (void)event.wait(value, failure); // false: a failure was raised, and what follows does nothing
    waited.fetch_add(std::chrono::nanoseconds(Clock::now() - begin).count(), std::memory_order_relaxed);
  }
  void submit(Work &work) override {
    if (failure.raised())
      return;
    if (Status status = work.run(); !status.ok())
      failure.raise(status);
  }
  void record(Event &event, uint64_t value) override {
    if (!failure.raised())
      event.record(value);
  }
  int64_t waitedNanoseconds() const override { return waited.load(std::memory_order_relaxed); }
  void finish() override {}

private:
  Failure &failure;
  std::atomic<int64_t> waited = 0;
};

} // namespace zero

#endif
