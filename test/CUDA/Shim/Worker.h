//===- Worker.h - Threads that streams run on -----------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_WORKER_H
#define ZERO_TEST_CUDA_SHIM_WORKER_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace zero::shim {

/// ZERO_SHIM_TIMING: concurrent (the default), serial (everything of a device in the order of submission), adversarial:SEED (streams are
/// held back at random, threads and blocks of kernels run in other orders).
struct Timing {
  enum class Mode { Concurrent, Serial, Adversarial } mode = Mode::Concurrent;
  uint64_t seed = 0;
  static Timing fromSettings();
};

/// Numbers that look random: splitmix64.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

private:
  uint64_t state;
};

/// Something that happens once. Whoever sees it sees what was done before it.
class Completion {
public:
  void complete();
  bool isComplete() const;
  void wait() const;
  /// When it happened.
  std::chrono::steady_clock::time_point time() const;

private:
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool done = false;
  std::chrono::steady_clock::time_point at;
};

/// Runs tasks one after the other on a thread of its own, which ends when the worker is gone and its tasks are done.
class Worker {
public:
  Worker();
  ~Worker();
  void push(std::function<void()> task);

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace zero::shim

#endif
