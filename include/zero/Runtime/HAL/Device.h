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

class StreamDevice;

struct QueueOptions {
  std::string name;
  /// Most waits, works and records that are submitted between two `finish`; submitting never allocates.
  size_t capacity = 0;
  /// Runs (or puts on its stream) everything on the thread that submits it.
  bool onCallingThread = false;
  /// What the device should rather work on where several queues could: 0, or less for what others wait for. For devices that choose.
  int priority = 0;
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

  /// Copies bytes of the host into an arena, or back: done on return. No queue touches them meanwhile. (Arenas of a device without
  /// streams lie in the host's memory, which may as well use them there.)
  virtual Status upload(std::byte *target, const void *source, uint64_t size) = 0;
  virtual Status download(void *target, const std::byte *source, uint64_t size) = 0;
  /// A device whose memory the host cannot address and whose queues are streams; null for others.
  virtual StreamDevice *streams() { return nullptr; }
};

std::unique_ptr<Device> createCpuDevice();

/// Prints the stream of commands to `out`, the same text on every machine: allocations, queues, and for each queue in the order of submission
/// what it runs, what that reads and writes, whose bytes it uses again, and which events it records and waits for. `out` outlives it.
std::unique_ptr<Device> createTraceDevice(std::ostream &out);

} // namespace zero

#endif
