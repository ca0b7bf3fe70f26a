//===- Trace.h - What every command did, as a Chrome trace ----------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_TRACE_H
#define ZERO_LIB_RUNTIME_EXECUTOR_TRACE_H

#include "zero/Runtime/HAL/Bootstrap.h"
#include <array>
#include <string>
#include <vector>

namespace zero {

inline constexpr size_t kQueueCount = 3;

/// Nanoseconds of a clock that the ranks of one machine share.
int64_t traceClock();
/// Nanoseconds that the calling thread has run on some core.
int64_t threadClock();

/// What a trace says of a command beside its times.
struct TracedCommand {
  std::string title;           ///< as the compiler's report calls it
  std::string section, kernel; ///< `kernel`: or the kind of collective, "copy", "zero"
  uint32_t command = 0;        ///< its number in the section
  uint64_t predictedNs = 0;
  std::string algorithm = {};  ///< that a library was told to use; empty where none was
};

/// Collects the commands of one rank: each queue writes to a list of its own. `--trace` reads it with chrome://tracing or Perfetto.
class Trace {
public:
  /// Makes room for what will be recorded, so that recording rarely allocates.
  void reserve(size_t queue, size_t entries) { entriesOf[queue].reserve(entries); }
  /// Keeps what `command` says, once for each; gives its number in this trace.
  uint32_t add(TracedCommand command) {
    commands.push_back(std::move(command));
    return static_cast<uint32_t>(commands.size() - 1);
  }
  /// `computed`: what the queue's thread ran meanwhile; threads that share its kernels not counted.
  void record(size_t queue, uint32_t command, int64_t begin, int64_t end, int64_t computed) {
    entriesOf[queue].push_back({command, begin, end, computed});
  }
  /// Gathers all ranks' lists; rank 0 writes the file.
  Status write(const std::string &path, Bootstrap &bootstrap) const;
  /// Whose rates the predicted times come from; empty: uncalibrated.
  std::string calibration;

private:
  struct Entry {
    uint32_t command;
    int64_t begin, end, computed;
  };
  std::string eventsAsJson(unsigned rank) const;
  std::vector<TracedCommand> commands;
  std::array<std::vector<Entry>, kQueueCount> entriesOf;
};

} // namespace zero

#endif
