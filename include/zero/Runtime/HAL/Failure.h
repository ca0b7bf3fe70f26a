//===- Failure.h - The first failure of a rank ----------------------------===//
//
// Every wait of a rank (for an event, for a peer) looks here from time to time, so that one failure ends them all.
// Equivalent to: a sticky CUDA context error, ncclCommAbort.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_FAILURE_H
#define ZERO_RUNTIME_HAL_FAILURE_H

#include "zero/Runtime/Base/Status.h"
#include <atomic>
#include <mutex>

namespace zero {

class Failure {
public:
  /// Keeps the first one raised.
  void raise(const Status &error) {
    std::lock_guard lock(mutex);
    if (!flag.load(std::memory_order_relaxed))
      first = error;
    flag.store(true, std::memory_order_release);
  }
  bool raised() const { return flag.load(std::memory_order_acquire); }
  Status status() const {
    std::lock_guard lock(mutex);
    return first;
  }

private:
  mutable std::mutex mutex;
  Status first;
  std::atomic<bool> flag = false;
};

} // namespace zero

#endif
