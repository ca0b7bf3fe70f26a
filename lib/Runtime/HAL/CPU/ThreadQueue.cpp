//===- ThreadQueue.cpp - A queue with a thread of its own -----------------===//
#include "lib/Runtime/HAL/CPU/ThreadQueue.h"
#include <pthread.h>

namespace zero {

ThreadQueue::ThreadQueue(const QueueOptions &options, std::unique_ptr<Queue> given, std::function<void()> start)
    : queue(std::move(given)), ring(options.capacity + 1),
      worker([this, name = options.name, start = std::move(start)] { serve(name, start); }) {}

ThreadQueue::~ThreadQueue() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  pushed.notify_one();
  worker.join();
}

void ThreadQueue::push(Entry entry) {
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
  {
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return head == tail; });
  }
  queue->finish();
}

void ThreadQueue::serve(const std::string &name, const std::function<void()> &start) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (start)
    start();
  std::unique_lock lock(mutex);
  while (true) {
    pushed.wait(lock, [this] { return closing || head != tail; });
    if (head == tail)
      return;
    Entry entry = ring[head % ring.size()];
    lock.unlock();
    if (entry.work)
      queue->submit(*entry.work);
    else if (entry.isWait)
      queue->wait(*entry.event, entry.value);
    else
      queue->record(*entry.event, entry.value);
    lock.lock();
    ++head;
    if (head == tail || tail - head == ring.size() - 1)
      done.notify_all();
  }
}

} // namespace zero
