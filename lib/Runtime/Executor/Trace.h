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

/// Collects the commands of one rank: each queue writes to a list of its own. `--trace` reads it with chrome://tracing or Perfetto.
class Trace {
public:
  /// Makes room for what will be recorded, so that recording rarely allocates.
  void reserve(size_t queue, size_t entries) { entriesOf[queue].reserve(entries); }
  /// `label` lives as long as the trace.
  void record(size_t queue, const std::string *label, int64_t begin, int64_t end) {
    entriesOf[queue].push_back({label, begin, end});
  }
  /// Gathers all ranks' lists; rank 0 writes the file.
  Status write(const std::string &path, Bootstrap &bootstrap) const;

private:
  struct Entry {
    const std::string *label;
    int64_t begin, end;
  };
  std::string eventsAsJson(unsigned rank) const;
  std::array<std::vector<Entry>, kQueueCount> entriesOf;
};

} // namespace zero

#endif
