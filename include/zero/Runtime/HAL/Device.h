//===- Device.h - Where a rank computes -----------------------------------===//
//
// Makes arenas, queues and events. Equivalent to: a CUDA device with its context; on CPUs the process.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_DEVICE_H
#define ZERO_RUNTIME_HAL_DEVICE_H

#include "zero/Runtime/HAL/Arena.h"
#include "zero/Runtime/HAL/Queue.h"
#include <memory>
#include <string>

namespace zero {

struct QueueOptions {
  std::string name;
  /// Most waits, works and records that are submitted between two `finish`; submitting never allocates.
  size_t capacity = 0;
  /// Runs everything on the thread that submits it.
  bool onCallingThread = false;
};

class Device {
public:
  virtual ~Device() = default;
  virtual Expected<std::unique_ptr<Arena>> allocate(const std::string &name, uint64_t size) = 0;
  virtual std::unique_ptr<Queue> createQueue(const QueueOptions &options, Failure &failure) = 0;
  virtual std::unique_ptr<Event> createEvent() = 0;
};

std::unique_ptr<Device> createCpuDevice();

} // namespace zero

#endif
