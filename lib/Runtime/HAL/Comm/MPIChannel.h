//===- MPIChannel.h - Collectives by pairwise exchange over MPI -----------===//
//
// Ranks of one machine whose sources lie in shared memory are read in place and get no messages.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_MPICHANNEL_H
#define ZERO_LIB_RUNTIME_HAL_COMM_MPICHANNEL_H

#include "lib/Runtime/HAL/Comm/MPIWait.h"
#include "lib/Runtime/HAL/Comm/SharedPeers.h"
#include "lib/Runtime/HAL/Comm/SparseMessage.h"
#include "zero/Runtime/HAL/Channel.h"
#include "zero/Runtime/HAL/JobView.h"
#include "zero/Runtime/HAL/Staging.h"
#include <vector>

namespace zero {

/// Has a communicator of its own, so that several channels may be used by several threads.
class MpiChannel final : public Channel, private MpiWaiter {
public:
  /// `peers`: those of this machine that share memory; null where none does.
  MpiChannel(MPI_Comm communicator, unsigned index, JobView &view, SharedPeers *peers, double timeoutSeconds, const Failure &failure);

  Status allGather(const void *source, void *target, uint64_t bytes) override;
  Status reduceScatter(const void *source, FloatType element, void *target, FloatType targetElement, uint64_t elements,
                       void *staging) override;
  Status sum(const float *source, float *target, uint64_t elements, void *staging) override {
    return sumAll(source, target, elements, staging);
  }
  Status sum(const int64_t *source, int64_t *target, uint64_t elements, void *staging) override {
    return sumAll(source, target, elements, staging);
  }
  uint64_t bytesSent() const override { return sent; }

private:
  template <typename T> Status sumAll(const T *source, T *target, uint64_t elements, void *staging);
  /// Ranks in the order in which this one talks to them: so each starts with another.
  using Partners = std::vector<unsigned>;
  /// Exchanges a chunk with partner `i` of this collective.
  Status post(unsigned slot, unsigned i, const void *send, void *receive, uint64_t bytes);
  /// Sends what `sparse` describes of the data at `send`.
  Status postSparse(unsigned slot, unsigned i, const std::byte *send);
  /// Until the slot's messages have come, and lie there as they were before they were sent.
  Status wait(unsigned slot);
  Status gatherChunks(const char *own, char *all, uint64_t bytes);
  Status reduceChunks(const char *source, FloatType element, char *target, FloatType targetElement, uint64_t elements,
                      char *staging);
  /// Does one collective between its entry in the view and its end there; the body exchanges messages with `partners`, reads
  /// `readable` in place, and leaves those sources alone afterwards.
  template <typename Body> Status run(const void *source, uint64_t bytes, Body body) {
    FlightRecord &record = view.enter(index, announced, bytes);
    bool inPlace = false;
    if (meeting) {
      ZERO_ASSIGN_OR_RETURN(inPlace, meeting->enter(source));
    }
    partners = inPlace ? &remote : &everyone;
    readable = inPlace ? &local : &none;
    ZERO_RETURN_IF_ERROR(body());
    sent += readable->size() * bytes;
    if (inPlace)
      ZERO_RETURN_IF_ERROR(meeting->leave());
    view.leave(index, record);
    return {};
  }
  Status findEnded() override { return view.endedRank(index, seenRanks()); }
  Status describeTimeout(double seconds) override { return view.timedOut(seconds, index, seenRanks()); }
  /// The ranks whose messages of the slot that is waited for have come and gone.
  std::vector<bool> seenRanks();

  MPI_Comm communicator;
  unsigned index, rank, ranks;
  JobView &view;
  double timeoutSeconds;
  const Failure &failure;
  int tag = 0;
  uint64_t sent = 0;
  /// Chunks of an all-gather that are under way at once: they need no staging.
  static constexpr unsigned kGatherSlots = 32;
  /// Bytes of a peer that are read in place and then let go.
  static constexpr uint64_t kReadBytes = 8 << 20;
  /// Of each slot: for each peer, what it sends us, then what we send it.
  std::vector<MPI_Request> requests[kGatherSlots];
  /// Of each slot: for each peer, where its message goes and how long it is at most; no bytes: none is awaited.
  std::vector<std::span<std::byte>> incoming[kGatherSlots];
  /// Of each slot: for each peer, what a sparse message ends with, until it is sent.
  std::vector<SparseMessage::Bits> outgoingBits[kGatherSlots];
  std::vector<MPI_Status> statuses;
  SparseMessage sparse;
  unsigned waitingSlot = 0;
  MpiPace pace;
  std::unique_ptr<SharedMeeting> meeting;
  Partners everyone, local, remote; ///< peers; of this machine, with shared memory; the others
  const Partners none;
  const Partners *partners = &everyone, *readable = &none; ///< of this collective
  std::vector<const void *> contributions;
};

} // namespace zero

#endif
