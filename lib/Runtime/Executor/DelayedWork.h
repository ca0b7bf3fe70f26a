//===- DelayedWork.h - A command that starts late, for tests --------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_DELAYEDWORK_H
#define ZERO_LIB_RUNTIME_EXECUTOR_DELAYEDWORK_H

#include "zero/Runtime/HAL/Queue.h"
#include <chrono>
#include <memory>
#include <random>
#include <thread>

namespace zero {

/// Sleeps before each run: half of the times not at all, else from one microsecond to half a millisecond, all magnitudes alike. What
/// is ordered by queues and events alone gives the same bits whatever the seed.
class DelayedWork final : public Work {
public:
  DelayedWork(std::unique_ptr<Work> work, uint64_t seed) : work(std::move(work)), random(static_cast<unsigned>(seed)) {}
  Status run() override {
    if (random() % 2)
      std::this_thread::sleep_for(std::chrono::microseconds(1u << random() % 10));
    return work->run();
  }

private:
  std::unique_ptr<Work> work;
  std::minstd_rand random;
};

} // namespace zero

#endif
