//===- StreamMarks.h - What a stream has come to, read while it goes on ---===//
//
// A kernel of one thread puts a number, a name and the device's time into memory of the host: the stream neither waits for the host, as it
// does for a function on the host, nor is anything lost where it is captured and replayed. Equivalent to: events with a time, of which a
// replayed graph keeps each.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_STREAMMARKS_H
#define ZERO_RUNTIME_HAL_STREAMMARKS_H

#include "zero/Runtime/HAL/MarkKernel.h"
#include "zero/Runtime/HAL/Stream.h"
#include <functional>
#include <limits>

namespace zero {

/// The marks of one stream. One thread at a time puts them, and one takes them.
class StreamMarks {
public:
  /// `program` holds the kernel. What it takes outlives it, and it outlives what was put on streams. The device is otherwise idle, so that its
  /// clock can be compared with the host's.
  static Expected<std::unique_ptr<StreamMarks>> create(StreamDevice &device, DeviceModule &program);

  /// A mark that `stream` passes when it has come there; also while it is captured.
  Status put(uint64_t what, void *stream);

  struct Passed {
    uint64_t what;
    int64_t time; ///< nanoseconds of the host's steady clock; never less than that of the one before
  };
  /// Those that were passed since it was called last, oldest first. Where more were than there are slots, the oldest are left out.
  void take(const std::function<void(const Passed &)> &visit);

  /// Nanoseconds between two marks with nothing between them: the least that was seen at the start.
  int64_t leastGap() const { return gap; }

private:
  explicit StreamMarks(StreamDevice &device) : device(device) {}
  Status compareClocks();
  bool read(uint64_t number, MarkSlot &slot) const;

  StreamDevice &device;
  DeviceFunction *kernel = nullptr;
  std::unique_ptr<Arena> last; ///< number of the last mark
  std::unique_ptr<PinnedMemory> slots;
  uint64_t taken = 0;   ///< the last that was
  int64_t offset = 0;   ///< from the device's clock to the host's
  int64_t compared = 0; ///< when it was found, of the host's clock
  int64_t gap = 0;
  int64_t lastTime = std::numeric_limits<int64_t>::min();
};

} // namespace zero

#endif
