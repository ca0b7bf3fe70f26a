//===- PinnedUpload.cpp - Bytes of the host on their way to a device ------===//
#include "lib/Runtime/Executor/PinnedUpload.h"

namespace zero {

Expected<std::unique_ptr<PinnedUpload>> PinnedUpload::create(StreamDevice &device, uint64_t pieceBytes) {
  std::unique_ptr<PinnedUpload> upload(new PinnedUpload(device, pieceBytes));
  ZERO_ASSIGN_OR_RETURN(upload->memory, device.allocatePinned(kPieces * pieceBytes));
  for (std::unique_ptr<Event> &event : upload->sent)
    event = device.createEvent("piece sent");
  upload->queue = device.createQueue({"weights", 0, /*onCallingThread=*/true}, upload->failure);
  if (upload->failure.raised())
    return upload->failure.status();
  return upload;
}

Expected<std::byte *> PinnedUpload::next() {
  const size_t piece = pieces % kPieces;
  if (pieces >= kPieces && !sent[piece]->wait(pieces - kPieces + 1, failure)) {
    ZERO_RETURN_IF_ERROR(finish()); // the event says that something is wrong, the stream what
    return Status::programFailed("a copy to the device fails");
  }
  return memory->data() + piece * pieceBytes;
}

Status PinnedUpload::send(std::byte *target, uint64_t size) {
  const size_t piece = pieces % kPieces;
  ZERO_RETURN_IF_ERROR(device.uploadAsync(target, memory->data() + piece * pieceBytes, size, queue->stream()));
  queue->record(*sent[piece], ++pieces);
  return failure.raised() ? failure.status() : Status();
}

Status PinnedUpload::finish() { return device.synchronize(queue->stream(), failure) ? Status() : failure.status(); }

} // namespace zero
