//===- HostSlices.h - What the host gives to sections and takes from them -===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_HOSTSLICES_H
#define ZERO_LIB_RUNTIME_EXECUTOR_HOSTSLICES_H

#include "lib/Runtime/Executor/ArenaBytes.h"
#include "zero/Runtime/HAL/Stream.h"
#include <vector>

namespace zero {

/// Ranges of arenas where the host writes or reads them: in the arenas, where it can; else in pinned memory beside them, from and to which
/// they are copied in the order of a queue. Of two copies one is the host's while the other is still under way.
class HostSlices {
public:
  HostSlices() = default;
  static Expected<HostSlices> create(Device &device, std::vector<ArenaBytes> ranges, unsigned copies);

  /// Where range `i` is for the host: after `send`, to be written for the next one; after `fetch` and `wait`, as it was there.
  std::byte *at(size_t i) const { return pinned ? pinned->data() + current * stride + offsets[i] : ranges[i].address; }
  size_t size() const { return ranges.size(); }

  /// Copies those of the ranges that `takes` names (all where it is empty) to the arena, behind what `queue` was given before.
  Status send(Queue &queue, const std::vector<bool> &takes, Failure &failure);
  Status fetch(Queue &queue);
  /// Until what was fetched is there.
  Status wait(Failure &failure);

private:
  std::vector<ArenaBytes> ranges;
  std::vector<uint64_t> offsets; ///< in a copy
  uint64_t stride = 0;           ///< between copies
  StreamDevice *device = nullptr;
  std::unique_ptr<PinnedMemory> pinned; ///< null: in place
  /// Of each copy: passed when it was last copied, and how often that was.
  std::vector<std::unique_ptr<Event>> copied;
  std::vector<uint64_t> times;
  size_t current = 0;
  void *stream = nullptr; ///< of the last copy
};

} // namespace zero

#endif
