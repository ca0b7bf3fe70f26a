//===- Device.h - Where a rank computes -----------------------------------===//
//
// Makes arenas, queues and events. Equivalent to: a CUDA device with its context; on CPUs the process.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_DEVICE_H
#define ZERO_RUNTIME_HAL_DEVICE_H

#include "zero/Runtime/HAL/Arena.h"
#include "zero/Runtime/HAL/Queue.h"
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

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
  /// `shared`: bytes that peers of the machine are to read in place (Bootstrap::share).
  virtual Expected<std::unique_ptr<Arena>> allocate(const std::string &name, uint64_t size,
                                                    const std::vector<ByteRange> &shared = {}) = 0;
  virtual std::unique_ptr<Queue> createQueue(const QueueOptions &options, Failure &failure) = 0;
  /// The name is for backends that show it.
  virtual std::unique_ptr<Event> createEvent(const std::string &name = "") = 0;
  /// Whether work is done. Where it is only shown, arenas are addresses without memory behind them.
  virtual bool runs() const { return true; }
};

std::unique_ptr<Device> createCpuDevice();

/// Prints the stream of commands to `out`, the same text on every machine: allocations, queues, and for each queue in the order of submission
/// what it runs, what that reads and writes, whose bytes it uses again, and which events it records and waits for. `out` outlives it.
std::unique_ptr<Device> createTraceDevice(std::ostream &out);

} // namespace zero

#endif
