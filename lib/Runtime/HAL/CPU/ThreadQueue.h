//===- ThreadQueue.h - A queue with a thread of its own -------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_CPU_THREADQUEUE_H
#define ZERO_LIB_RUNTIME_HAL_CPU_THREADQUEUE_H

#include "zero/Runtime/HAL/Device.h"
#include <condition_variable>
#include <functional>
#include <thread>
#include <vector>

namespace zero {

/// A worker thread that hands the entries of a ring to another queue, which runs (or enqueues) them at once.
class ThreadQueue final : public Queue {
public:
  /// `start`: what the thread does first.
  ThreadQueue(const QueueOptions &options, std::unique_ptr<Queue> queue, std::function<void()> start = {});
  ~ThreadQueue() override;
  void wait(Event &event, uint64_t value) override { push({nullptr, &event, value, true}); }
  void submit(Work &work) override { push({&work}); }
  void record(Event &event, uint64_t value) override { push({nullptr, &event, value, false}); }
  void *stream() const override { return queue->stream(); }
  int64_t waitedNanoseconds() const override { return queue->waitedNanoseconds(); }
  void finish() override;

private:
  /// One thing to do: exactly one of `work` and `event` is set.
  struct Entry {
    Work *work = nullptr;
    Event *event = nullptr;
    uint64_t value = 0;
    bool isWait = false;
  };
  void push(Entry entry);
  void serve(const std::string &name, const std::function<void()> &start);

  std::unique_ptr<Queue> queue;
  std::vector<Entry> ring;
  std::mutex mutex;
  std::condition_variable pushed, done;
  uint64_t head = 0; ///< entries run so far
  uint64_t tail = 0; ///< entries pushed so far
  bool closing = false;
  std::thread worker;
};

} // namespace zero

#endif
