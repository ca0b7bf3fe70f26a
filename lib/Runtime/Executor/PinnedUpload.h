//===- PinnedUpload.h - Bytes of the host on their way to a device --------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_PINNEDUPLOAD_H
#define ZERO_LIB_RUNTIME_EXECUTOR_PINNEDUPLOAD_H

#include "zero/Runtime/HAL/Stream.h"
#include <array>

namespace zero {

/// Pieces of pinned memory: while some are on their way the host writes the next one. (What is copied from other memory the driver copies
/// first, and the host waits meanwhile.)
class PinnedUpload {
public:
  /// Pieces of up to `pieceBytes`. `device` outlives it.
  static Expected<std::unique_ptr<PinnedUpload>> create(StreamDevice &device, uint64_t pieceBytes);

  /// Where the next piece is to be written, until `send`.
  Expected<std::byte *> next();
  /// Puts the first `size` bytes of it on their way.
  Status send(std::byte *target, uint64_t size);
  /// Until all are there.
  Status finish();

private:
  PinnedUpload(StreamDevice &device, uint64_t pieceBytes) : device(device), pieceBytes(pieceBytes) {}

  static constexpr size_t kPieces = 4;
  StreamDevice &device;
  const uint64_t pieceBytes;
  Failure failure;
  std::unique_ptr<PinnedMemory> memory;
  std::array<std::unique_ptr<Event>, kPieces> sent;
  uint64_t pieces = 0; ///< that were sent so far
  std::unique_ptr<Queue> queue;
};

} // namespace zero

#endif
