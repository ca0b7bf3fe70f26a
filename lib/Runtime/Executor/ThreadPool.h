//===- ThreadPool.h - Splits the items of a kernel over threads -----------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_THREADPOOL_H
#define ZERO_LIB_RUNTIME_EXECUTOR_THREADPOOL_H

#include "zero/Runtime/Kernels/Kernel.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace zero {

/// Gives each thread one range of the items; the calling thread takes part. One call at a time.
class ThreadPool final : public ParallelFor {
public:
  explicit ThreadPool(unsigned threads);
  ~ThreadPool() override;
  void run(int64_t items, void (*body)(void *context, int64_t begin, int64_t end), void *context) override;

private:
  struct Job {
    void (*body)(void *, int64_t, int64_t) = nullptr;
    void *context = nullptr;
    int64_t items = 0;
    int64_t perThread = 0;
  };
  void serve(unsigned index);
  static void runPart(const Job &job, unsigned index);

  std::mutex mutex;
  std::condition_variable started, finished;
  Job job;
  uint64_t generation = 0;
  unsigned running = 0;
  bool closing = false;
  std::vector<std::thread> workers;
};

} // namespace zero

#endif
