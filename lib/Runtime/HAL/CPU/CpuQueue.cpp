//===- CpuQueue.cpp - Queues of a CPU -------------------------------------===//
#include "lib/Runtime/HAL/CPU/CpuQueue.h"
#include <chrono>
#include <pthread.h>

namespace zero {

void QueueEntry::run(Failure &failure, std::atomic<int64_t> &waited) const {
  if (failure.raised())
    return;
  if (work) {
    if (Status status = work->run(); !status.ok())
      failure.raise(status);
    return;
  }
  if (!isWait)
    return event->record(value);
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  (void)event->wait(value, failure); // false: a failure was raised, and what follows does nothing
  waited.fetch_add(std::chrono::nanoseconds(Clock::now() - begin).count(), std::memory_order_relaxed);
}

ThreadQueue::ThreadQueue(const QueueOptions &options, Failure &failure)
    : failure(failure), ring(options.capacity + 1), worker([this, name = options.name] { serve(name); }) {}

ThreadQueue::~ThreadQueue() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  pushed.notify_one();
  worker.join();
}

void ThreadQueue::push(QueueEntry entry) {
  bool wasIdle;
  {
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return tail - head < ring.size(); });
    wasIdle = head == tail;
    ring[tail % ring.size()] = entry;
    ++tail;
  }
  if (wasIdle)
    pushed.notify_one();
}

void ThreadQueue::finish() {
  std::unique_lock lock(mutex);
  done.wait(lock, [this] { return head == tail; });
}

void ThreadQueue::serve(const std::string &name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  std::unique_lock lock(mutex);
  while (true) {
    pushed.wait(lock, [this] { return closing || head != tail; });
    if (head == tail)
      return;
    QueueEntry entry = ring[head % ring.size()];
    lock.unlock();
    entry.run(failure, waited);
    lock.lock();
    ++head;
    if (head == tail || tail - head == ring.size() - 1)
      done.notify_all();
  }
}

} // namespace zero
