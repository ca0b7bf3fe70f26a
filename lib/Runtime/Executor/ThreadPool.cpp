//===- ThreadPool.cpp - Splits the items of a kernel over threads ---------===//
#include "lib/Runtime/Executor/ThreadPool.h"
#include <algorithm>

namespace zero {

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned index = 1; index < threads; ++index)
    workers.emplace_back([this, index] { serve(index); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::runPart(const Job &job, unsigned index) {
  int64_t begin = std::min(job.items, index * job.perThread), end = std::min(job.items, begin + job.perThread);
  if (begin < end)
    job.body(job.context, begin, end);
}

void ThreadPool::run(int64_t items, void (*body)(void *, int64_t, int64_t), void *context) {
  if (items <= 0)
    return;
  if (workers.empty() || items == 1) {
    body(context, 0, items);
    return;
  }
  int64_t threads = static_cast<int64_t>(workers.size()) + 1;
  Job mine{body, context, items, (items + threads - 1) / threads};
  {
    std::lock_guard lock(mutex);
    job = mine;
    running = static_cast<unsigned>(workers.size());
    ++generation;
  }
  started.notify_all();
  runPart(mine, 0);
  std::unique_lock lock(mutex);
  finished.wait(lock, [this] { return running == 0; });
}

void ThreadPool::serve(unsigned index) {
  std::unique_lock lock(mutex);
  for (uint64_t seen = 0;;) {
    started.wait(lock, [&] { return closing || generation != seen; });
    if (closing)
      return;
    seen = generation;
    Job mine = job;
    lock.unlock();
    runPart(mine, index);
    lock.lock();
    if (--running == 0)
      finished.notify_one();
  }
}

} // namespace zero
