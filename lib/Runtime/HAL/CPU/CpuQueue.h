//===- CpuQueue.h - Queues of a CPU ---------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CPU_CPUQUEUE_H
#define ZERO_LIB_RUNTIME_HAL_CPU_CPUQUEUE_H

#include "zero/Runtime/HAL/Device.h"
#include <atomic>
#include <condition_variable>
#include <thread>
#include <vector>

namespace zero {

/// One thing to do on a queue: exactly one of `work` and `event` is set.
struct QueueEntry {
  Work *work = nullptr;
  Event *event = nullptr;
  uint64_t value = 0;
  bool isWait = false;

  /// Adds to `waited` how long it waited, in nanoseconds.
  void run(Failure &failure, std::atomic<int64_t> &waited) const;
};

/// Runs everything at once, on the thread that submits.
class InlineQueue final : public Queue {
public:
  explicit InlineQueue(Failure &failure) : failure(failure) {}
  void wait(Event &event, uint64_t value) override { QueueEntry{nullptr, &event, value, true}.run(failure, waited); }
  void submit(Work &work) override { QueueEntry{&work}.run(failure, waited); }
  void record(Event &event, uint64_t value) override { QueueEntry{nullptr, &event, value, false}.run(failure, waited); }
  int64_t waitedNanoseconds() const override { return waited.load(std::memory_order_relaxed); }
  void finish() override {}

private:
  Failure &failure;
  std::atomic<int64_t> waited = 0;
};

/// A worker thread that runs the entries of a ring.
class ThreadQueue final : public Queue {
public:
  ThreadQueue(const QueueOptions &options, Failure &failure);
  ~ThreadQueue() override;
  void wait(Event &event, uint64_t value) override { push({nullptr, &event, value, true}); }
  void submit(Work &work) override { push({&work}); }
  void record(Event &event, uint64_t value) override { push({nullptr, &event, value, false}); }
  int64_t waitedNanoseconds() const override { return waited.load(std::memory_order_relaxed); }
  void finish() override;

private:
  void push(QueueEntry entry);
  void serve(const std::string &name);

  Failure &failure;
  std::atomic<int64_t> waited = 0;
  std::vector<QueueEntry> ring;
  std::mutex mutex;
  std::condition_variable pushed, done;
  uint64_t head = 0; ///< entries run so far
  uint64_t tail = 0; ///< entries pushed so far
  bool closing = false;
  std::thread worker;
};

} // namespace zero

#endif
