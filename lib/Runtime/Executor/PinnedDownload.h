//===- PinnedDownload.h - Bytes of a device on their way to the host ------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_PINNEDDOWNLOAD_H
#define ZERO_LIB_RUNTIME_EXECUTOR_PINNEDDOWNLOAD_H

#include "zero/Runtime/HAL/Stream.h"
#include <array>

namespace zero {

/// Two pieces of pinned memory: while the host does something with one the other is on its way. (What is copied to other memory the driver
/// copies twice, and the host waits meanwhile.)
class PinnedDownload {
public:
  /// Pieces of up to `pieceBytes`. `device` outlives it.
  static Expected<std::unique_ptr<PinnedDownload>> create(StreamDevice &device, uint64_t pieceBytes);

  /// `size` bytes from `source` on, at most a piece, until the next call. Those behind them, of which `following` are there to be read, are
  /// on their way when it returns. No queue writes either until it is read, or forgotten.
  Expected<const std::byte *> read(const std::byte *source, uint64_t size, uint64_t following);
  /// What is on its way is not taken for what the next call reads.
  void forget() { lastSource = nullptr; }

private:
  PinnedDownload(StreamDevice &device, uint64_t bytes) : device(device), bytes(bytes) {}
  /// The next piece goes on its way.
  Status start(const std::byte *source, uint64_t size);

  static constexpr uint64_t kPieces = 2;
  StreamDevice &device;
  const uint64_t bytes;
  Failure failure;
  std::unique_ptr<PinnedMemory> memory;
  std::unique_ptr<Event> copied;
  uint64_t pieces = 0; ///< that were started so far
  const std::byte *lastSource = nullptr; ///< of the last of them
  uint64_t lastSize = 0;
  std::unique_ptr<Queue> queue; ///< ends first
};

} // namespace zero

#endif
