//===- MPIChannel.cpp - Collectives by pairwise exchange over MPI ---------===//
//
// Messages go chunk by chunk; several slots of requests let the next chunks travel while one is waited for or summed.
// Messages of a pair of ranks keep their order, so one tag per collective is enough. Meanwhile peers of this machine are read in place.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/HAL/Comm/MPIChannel.h"
#include "lib/Runtime/HAL/Comm/OrderedSum.h"
#include "lib/Runtime/HAL/Comm/StreamCopy.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace zero {

MpiChannel::MpiChannel(MPI_Comm communicator, unsigned index, JobView &view, SharedPeers *peers, double timeoutSeconds,
                       const Failure &failure)
    : communicator(communicator), index(index), rank(view.rank()), ranks(view.size()), view(view),
      timeoutSeconds(timeoutSeconds), failure(failure), statuses(2 * (ranks - 1)), contributions(ranks) {
  for (std::vector<MPI_Request> &slot : requests)
    slot.assign(2 * (ranks - 1), MPI_REQUEST_NULL);
  for (std::vector<std::span<std::byte>> &slot : incoming)
    slot.resize(ranks - 1);
  if (peers && !peers->peers().empty())
    meeting = std::make_unique<SharedMeeting>(*peers, index, view, timeoutSeconds, failure);
  for (unsigned i = 1; i < ranks; ++i) {
    unsigned peer = (rank + i) % ranks;
    bool shares = meeting && std::count(meeting->ranks().begin(), meeting->ranks().end(), peer);
    everyone.push_back(peer);
    (shares ? local : remote).push_back(peer);
  }
}

Status MpiChannel::post(unsigned slot, unsigned i, const void *send, void *receive, uint64_t bytes) {
  int count = static_cast<int>(bytes), other = static_cast<int>((*partners)[i]);
  ZERO_MPI(MPI_Irecv(receive, count, MPI_BYTE, other, tag, communicator, &requests[slot][2 * i]));
  incoming[slot][i] = {static_cast<std::byte *>(receive), bytes};
  sent += bytes;
  if (sparse.describe(static_cast<const std::byte *>(send), bytes)) {
    omitted.fetch_add(bytes - sparse.bytes(), std::memory_order_relaxed);
    return postSparse(slot, i, static_cast<const std::byte *>(send));
  }
  ZERO_MPI(MPI_Isend(send, count, MPI_BYTE, other, tag, communicator, &requests[slot][2 * i + 1]));
  return {};
}

Status MpiChannel::postSparse(unsigned slot, unsigned i, const std::byte *send) {
  outgoingBits[slot].resize(ranks - 1);
  std::byte *bits = outgoingBits[slot][i].data();
  std::copy(sparse.bits().begin(), sparse.bits().end(), bits);
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  auto add = [&](const std::byte *at, uint64_t bytes) -> Status {
    lengths.push_back(static_cast<int>(bytes));
    places.emplace_back();
    ZERO_MPI(MPI_Get_address(at, &places.back()));
    return {};
  };
  for (SparseMessage::Run run : sparse.runs())
    ZERO_RETURN_IF_ERROR(add(send + run.offset, run.bytes));
  ZERO_RETURN_IF_ERROR(add(bits, sparse.bits().size()));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ZERO_MPI(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &type));
  ZERO_MPI(MPI_Type_commit(&type));
  ZERO_MPI(MPI_Isend(MPI_BOTTOM, 1, type, static_cast<int>((*partners)[i]), tag, communicator, &requests[slot][2 * i + 1]));
  ZERO_MPI(MPI_Type_free(&type)); // when the message is sent
  return {};
}

Status MpiChannel::wait(unsigned slot) {
  waitingSlot = slot;
  ZERO_RETURN_IF_ERROR(waitForRequests(requests[slot].data(), static_cast<int>(requests[slot].size()), statuses.data(), timeoutSeconds, failure, *this, pace));
  for (unsigned i = 0; i < partners->size(); ++i) {
    std::span<std::byte> place = std::exchange(incoming[slot][i], {});
    int received = static_cast<int>(place.size());
    if (!place.empty())
      ZERO_MPI(MPI_Get_count(&statuses[2 * i], MPI_BYTE, &received));
    if (static_cast<uint64_t>(received) != place.size() && !expandSparseMessage(place.data(), place.size(), static_cast<uint64_t>(received)))
      return Status::communication("rank " + std::to_string((*partners)[i]) + " sent a message of " + std::to_string(received) + " bytes, of " +
                                   std::to_string(place.size()) + " that were awaited");
  }
  return {};
}

std::vector<bool> MpiChannel::seenRanks() {
  std::vector<bool> seen(ranks, true);
  for (size_t i = 0; i < 2 * partners->size(); ++i) {
    int done = 0;
    MpiLock lock;
    if (MPI_Request_get_status(requests[waitingSlot][i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
      seen[(*partners)[i / 2]] = false;
  }
  return seen;
}

Status MpiChannel::allGather(const void *source, void *target, uint64_t bytes) {
  return run(source, bytes, [&] { return gatherChunks(static_cast<const char *>(source), static_cast<char *>(target), bytes); });
}

Status MpiChannel::gatherChunks(const char *own, char *all, uint64_t bytes) {
  tag = (tag + 1) & 0x3fff;
  uint64_t chunks = partners->empty() ? 0 : (bytes + kCollectiveChunkBytes - 1) / kCollectiveChunkBytes;
  bool read = false;
  auto readPeers = [&] {
    for (unsigned peer : *readable)
      for (uint64_t begin = 0; begin < bytes; begin += kReadBytes) {
        uint64_t size = std::min(kReadBytes, bytes - begin);
        streamCopy(all + peer * bytes + begin, static_cast<const char *>(meeting->sourceOf(peer)) + begin, size);
        meeting->letGo(peer, begin, size);
      }
    read = true;
  };
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    unsigned slot = chunk % kGatherSlots;
    if (chunk == kGatherSlots)
      readPeers(); // while the first chunks travel
    ZERO_RETURN_IF_ERROR(wait(slot));
    uint64_t offset = chunk * kCollectiveChunkBytes, size = std::min(kCollectiveChunkBytes, bytes - offset);
    for (unsigned i = 0; i < partners->size(); ++i)
      ZERO_RETURN_IF_ERROR(post(slot, i, own + offset, all + (*partners)[i] * bytes + offset, size));
  }
  if (!read)
    readPeers();
  if (own != all + rank * bytes)
    streamCopy(all + rank * bytes, own, bytes); // while the last chunks travel
  for (unsigned slot = 0; slot < kGatherSlots; ++slot)
    ZERO_RETURN_IF_ERROR(wait(slot));
  return {};
}

Status MpiChannel::reduceScatter(const void *source, FloatType element, void *target, FloatType targetElement,
                                 uint64_t elements, void *staging) {
  return run(source, elements * sizeOf(element), [&] {
    return reduceChunks(static_cast<const char *>(source), element, static_cast<char *>(target), targetElement, elements,
                        static_cast<char *>(staging));
  });
}

Status MpiChannel::reduceChunks(const char *source, FloatType element, char *target, FloatType targetElement,
                                uint64_t elements, char *staging) {
  const uint64_t size = sizeOf(element), targetSize = sizeOf(targetElement),
                 kChunk = (partners->empty() ? kReadBytes : kCollectiveChunkBytes) / size;
  static_assert(kCollectiveChunksInFlight <= kGatherSlots, "a reduce_scatter uses the slots of an all_gather");
  tag = (tag + 1) & 0x3fff;
  if (ranks == 1) {
    if (source != target) {
      const void *own = source;
      sumInRankOrder(&own, 0, 1, element, target, targetElement, elements);
    }
    return {};
  }
  uint64_t chunks = (elements + kChunk - 1) / kChunk;
  uint64_t slotBytes = partners->size() * std::min(elements, kChunk) * size;
  auto placeOf = [&](unsigned slot, unsigned i, uint64_t count) { return staging + slot * slotBytes + i * count * size; };
  auto start = [&](uint64_t chunk) -> Status {
    uint64_t offset = chunk * kChunk, count = std::min(kChunk, elements - offset);
    unsigned slot = chunk % kCollectiveChunksInFlight;
    for (unsigned i = 0; i < partners->size(); ++i)
      ZERO_RETURN_IF_ERROR(post(slot, i, source + ((*partners)[i] * elements + offset) * size, placeOf(slot, i, count), count * size));
    return {};
  };
  for (uint64_t chunk = 0; chunk < std::min(chunks, kCollectiveChunksInFlight); ++chunk)
    ZERO_RETURN_IF_ERROR(start(chunk));
  uint64_t kept = 0; // the first element that was read and not let go
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    uint64_t offset = chunk * kChunk, count = std::min(kChunk, elements - offset), read = offset + count;
    unsigned slot = chunk % kCollectiveChunksInFlight;
    ZERO_RETURN_IF_ERROR(wait(slot));
    contributions[rank] = source + (rank * elements + offset) * size;
    for (unsigned i = 0; i < partners->size(); ++i)
      contributions[(*partners)[i]] = placeOf(slot, i, count);
    for (unsigned peer : *readable)
      contributions[peer] = static_cast<const char *>(meeting->sourceOf(peer)) + (rank * elements + offset) * size;
    sumInRankOrder(contributions.data(), 0, ranks, element, target + offset * targetSize, targetElement, count);
    if ((read - kept) * size >= kReadBytes || read == elements) {
      for (unsigned peer : *readable)
        meeting->letGo(peer, (rank * elements + kept) * size, (read - kept) * size);
      kept = read;
    }
    if (chunk + kCollectiveChunksInFlight < chunks)
      ZERO_RETURN_IF_ERROR(start(chunk + kCollectiveChunksInFlight));
  }
  return {};
}

template <typename T> Status MpiChannel::sumAll(const T *source, T *target, uint64_t elements, void *staging) {
  tag = (tag + 1) & 0x3fff;
  // In place, so the sum waits in the staging until all have read the sources.
  T *result = target;
  ZERO_RETURN_IF_ERROR(run(source, elements * sizeof(T), [&]() -> Status {
    T *received = static_cast<T *>(staging);
    for (unsigned i = 0; i < partners->size(); ++i)
      ZERO_RETURN_IF_ERROR(post(0, i, source, received + i * elements, elements * sizeof(T)));
    ZERO_RETURN_IF_ERROR(wait(0));
    contributions[rank] = source;
    for (unsigned i = 0; i < partners->size(); ++i)
      contributions[(*partners)[i]] = received + i * elements;
    for (unsigned peer : *readable)
      contributions[peer] = meeting->sourceOf(peer);
    if (!readable->empty())
      result = received + partners->size() * elements;
    if constexpr (std::is_same_v<T, float>)
      sumInRankOrder(contributions.data(), 0, ranks, FloatType::F32, result, FloatType::F32, elements);
    else
      sumInRankOrder(contributions.data(), ranks, result, elements);
    for (unsigned peer : *readable)
      meeting->letGo(peer, 0, elements * sizeof(T));
    return {};
  }));
  if (result != target)
    std::memcpy(target, result, elements * sizeof(T));
  return {};
}

} // namespace zero
