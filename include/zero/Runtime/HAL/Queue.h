//===- Queue.h - Runs what is submitted, in order -------------------------===//
//
// Equivalent to: a CUDA stream; on CPUs a worker thread. The compute queue of a CPU is the thread that submits. The trace backend prints
// what is submitted.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_QUEUE_H
#define ZERO_RUNTIME_HAL_QUEUE_H

#include "zero/Runtime/HAL/Event.h"
#include <cstddef>
#include <string>
#include <vector>

namespace zero {

/// What a command is, for a backend that shows work instead of doing it.
struct WorkDescription {
  /// Bytes of an arena of the device that made it.
  struct Range {
    const std::byte *begin;
    uint64_t size;
    std::string buffer;
    bool write;
  };
  std::string place; ///< "micro_first 3"
  std::string title; ///< "matmul node_addmm"
  uint64_t wireBytes = 0;
  std::vector<Range> ranges; ///< what it reads, then what it writes
};

/// What one command does. Lives longer than every submission of it.
class Work {
public:
  virtual ~Work() = default;
  virtual Status run() = 0;
  virtual WorkDescription describe() const { return {}; }
};

class Queue {
public:
  virtual ~Queue() = default;
  /// What follows runs after `event` reached `value`.
  virtual void wait(Event &event, uint64_t value) = 0;
  /// Its error is raised as the rank's failure; after a failure nothing more runs.
  virtual void submit(Work &work) = 0;
  /// Records `value` when everything submitted before has run.
  virtual void record(Event &event, uint64_t value) = 0;
  /// The device's own handle of the stream that work is put on (CUDA: a CUstream); null where work runs on the host.
  virtual void *stream() const { return nullptr; }
  /// How long this queue has stood in its `wait`s so far.
  virtual int64_t waitedNanoseconds() const { return 0; }
  /// Blocks until everything submitted has run or was given up because of a failure.
  virtual void finish() = 0;
};

} // namespace zero

#endif
