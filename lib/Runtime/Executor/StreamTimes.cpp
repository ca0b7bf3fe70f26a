//===- StreamTimes.cpp - When commands ran on a device with streams -------===//
#include "lib/Runtime/Executor/StreamTimes.h"
#include <cmath>

namespace zero {

class StreamTimes::TimedWork final : public Work {
public:
  TimedWork(std::unique_ptr<Work> work, Timed &timed, void *stream) : work(std::move(work)), timed(timed), stream(stream) {}
  Status run() override {
    ZERO_RETURN_IF_ERROR(timed.begin->record(stream));
    ZERO_RETURN_IF_ERROR(work->run());
    ZERO_RETURN_IF_ERROR(timed.end->record(stream));
    timed.ran = true;
    return {};
  }

private:
  std::unique_ptr<Work> work;
  Timed &timed;
  void *stream;
};

std::unique_ptr<Work> StreamTimes::time(std::unique_ptr<Work> work, size_t queue, const TracedCommand &command, void *stream) {
  Timed &timed = commands.emplace_back();
  timed.queue = queue;
  timed.tracedAs = trace.add(command);
  timed.begin = device.createTimeMark();
  timed.end = device.createTimeMark();
  return std::make_unique<TimedWork>(std::move(work), timed, stream);
}

Status StreamTimes::begin(void *stream, Failure &failure) {
  if (!origin)
    origin = device.createTimeMark();
  ZERO_RETURN_IF_ERROR(origin->record(stream));
  if (!device.synchronize(stream, failure))
    return failure.status();
  originTime = traceClock();
  return {};
}

Status StreamTimes::collect() {
  for (Timed &timed : commands) {
    if (!timed.ran)
      continue;
    timed.ran = false;
    ZERO_ASSIGN_OR_RETURN(double begin, timed.begin->secondsSince(*origin));
    ZERO_ASSIGN_OR_RETURN(double end, timed.end->secondsSince(*origin));
    // No core of the host computes meanwhile.
    trace.record(timed.queue, timed.tracedAs, originTime + std::llround(begin * 1e9), originTime + std::llround(end * 1e9), /*computed=*/0);
  }
  return {};
}

} // namespace zero
