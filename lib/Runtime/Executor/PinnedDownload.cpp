//===- PinnedDownload.cpp - Bytes of a device on their way to the host ----===//
#include "lib/Runtime/Executor/PinnedDownload.h"
#include <algorithm>

namespace zero {

Expected<std::unique_ptr<PinnedDownload>> PinnedDownload::create(StreamDevice &device, uint64_t pieceBytes) {
  std::unique_ptr<PinnedDownload> download(new PinnedDownload(device, pieceBytes));
  ZERO_ASSIGN_OR_RETURN(download->memory, device.allocatePinned(kPieces * pieceBytes));
  download->copied = device.createEvent("piece copied");
  download->queue = device.createQueue({"parameters", 0, /*onCallingThread=*/true}, download->failure);
  if (download->failure.raised())
    return download->failure.status();
  return download;
}

Status PinnedDownload::start(const std::byte *source, uint64_t size) {
  ZERO_RETURN_IF_ERROR(device.downloadAsync(memory->data() + pieces % kPieces * bytes, source, size, queue->stream()));
  queue->record(*copied, ++pieces);
  lastSource = source;
  lastSize = size;
  return failure.raised() ? failure.status() : Status();
}

Expected<const std::byte *> PinnedDownload::read(const std::byte *source, uint64_t size, uint64_t following) {
  if (lastSource != source || lastSize < size)
    ZERO_RETURN_IF_ERROR(start(source, size));
  const std::byte *piece = memory->data() + (pieces - 1) % kPieces * bytes;
  if (!copied->wait(pieces, failure)) { // the event says that something is wrong, the stream what
    (void)device.synchronize(queue->stream(), failure);
    return failure.raised() ? failure.status() : Status::programFailed("a copy from the device fails");
  }
  forget();
  if (following)
    ZERO_RETURN_IF_ERROR(start(source + size, std::min(following, bytes)));
  return piece;
}

} // namespace zero
