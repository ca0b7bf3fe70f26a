//===- StreamGradients.h - Gradients of a step that are not finite --------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_STREAMGRADIENTS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_STREAMGRADIENTS_H

#include "lib/Runtime/Executor/Memory.h"
#include "zero/Runtime/HAL/Stream.h"

namespace zero {

/// Looks, on the device and behind an update, which gradients are not finite if the step is not: when the host hears of that the next step
/// may have written others.
class StreamGradients {
public:
  /// `program` holds the kernel; null where the plan has no numbers of a step. The arguments outlive it.
  static Expected<std::unique_ptr<StreamGradients>> create(const schema::Plan &plan, const Memory &memory, StreamDevice &device, DeviceModule &program,
                                                           unsigned rank);
  Status enqueue(void *stream);
  /// Of the last step that was not finite: as Executor::nonFiniteGradients.
  Expected<std::string> read() const;

private:
  explicit StreamGradients(StreamDevice &device) : device(device) {}

  StreamDevice &device;
  DeviceFunction *kernel = nullptr;
  std::byte *loss = nullptr, *norm = nullptr, *base = nullptr;
  uint32_t count = 0;
  std::unique_ptr<Arena> memory; ///< ranges, then a byte for each
};

} // namespace zero

#endif
