//===- Event.h - Orders commands of different queues ----------------------===//
//
// A counter that only grows: instance i of a section records value i. Equivalent to: a CUDA event, a Vulkan timeline
// semaphore.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_EVENT_H
#define ZERO_RUNTIME_HAL_EVENT_H

#include "zero/Runtime/HAL/Failure.h"
#include <cstdint>
#include <memory>

namespace zero {

class Event {
public:
  virtual ~Event() = default;
  /// Everything done before is seen by whoever waits for `value`.
  virtual void record(uint64_t value) = 0;
  /// Blocks the calling thread until `value` was recorded (true) or `failure` was raised (false).
  virtual bool wait(uint64_t value, const Failure &failure) = 0;
};

} // namespace zero

#endif
