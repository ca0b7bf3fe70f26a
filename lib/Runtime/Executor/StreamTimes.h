//===- StreamTimes.h - When commands ran on a device with streams ---------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_STREAMTIMES_H
#define ZERO_LIB_RUNTIME_EXECUTOR_STREAMTIMES_H

#include "lib/Runtime/Executor/Trace.h"
#include "zero/Runtime/HAL/Stream.h"
#include <deque>

namespace zero {

/// Puts marks around commands, and writes into a trace between which times they ran. Marks are of one run: each is collected before the
/// next one begins.
class StreamTimes {
public:
  StreamTimes(StreamDevice &device, Trace &trace) : device(device), trace(trace) {}

  /// The same command between two marks.
  std::unique_ptr<Work> time(std::unique_ptr<Work> work, size_t queue, const TracedCommand &command, void *stream);
  /// Before a section: the device is idle.
  Status begin(void *stream, Failure &failure);
  /// After it: the device is idle again.
  Status collect();

private:
  struct Timed {
    size_t queue;
    uint32_t tracedAs;
    std::unique_ptr<TimeMark> begin, end;
    bool ran = false; ///< since they were collected last
  };
  class TimedWork;

  StreamDevice &device;
  Trace &trace;
  std::deque<Timed> commands;
  std::unique_ptr<TimeMark> origin;
  int64_t originTime = 0; ///< of the trace's clock
};

} // namespace zero

#endif
