//===- NcclChannel.h - One NCCL communicator, for the collectives of a queue ==//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNEL_H
#define ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNEL_H

#include "lib/Runtime/HAL/Comm/NCCL/NcclChannels.h"
#include "zero/Runtime/HAL/StreamMarks.h"

namespace zero {

class NcclCollective;

class NcclChannel final : public StreamChannel {
public:
  /// `communicator` connects the ranks of the job; its owner ends it. `index`: of the channel in the JobView.
  NcclChannel(NcclChannels &owner, std::shared_ptr<NcclCommunicator> communicator, std::unique_ptr<StreamMarks> marks, unsigned index);
  ~NcclChannel() override;

  Expected<std::unique_ptr<PreparedCollective>> prepare(const StreamCollective &collective) override;
  bool blocks() const override { return false; }
  void collect() override { owner.collect(); }

  /// What is wrong with the collective that the stream is in, or with the communicator; asked by the watcher, from time to time.
  Status findProblem();

private:
  friend class NcclChannels;
  friend class NcclCollective;
  /// As the JobView says, once all ranks have written what they came to.
  Status endedRank() const;
  /// The stream has passed it.
  void passed(const StreamMarks::Passed &mark);
  using Clock = std::chrono::steady_clock;

  NcclChannels &owner;
  const NcclJob &job;
  const unsigned index;
  const std::shared_ptr<NcclCommunicator> communicator;

  /// Where collectives begin and end on the stream. These, under the owner's `marksMutex`; to put them takes none.
  const std::unique_ptr<StreamMarks> marks;
  std::vector<NcclCollective *> prepared; ///< by their numbers; null: gone
  /// The collective that the stream has come to and not left, and when that was seen.
  std::atomic<const NcclCollective *> current = nullptr;
  std::atomic<Clock::rep> enteredAt = 0;
};

/// One collective of a program on one channel.
class NcclCollective final : public PreparedCollective {
public:
  /// `sum`: the kernel that adds in rank order; null where NCCL does the sums.
  NcclCollective(NcclChannel &channel, const StreamCollective &what, DeviceFunction *sum);
  ~NcclCollective() override;
  Status enqueue(void *stream) override;
  const std::string &origin() const { return what.origin; }

private:
  Status exchange(ncclComm_t communicator, void *stream);
  Status exchangeInLibraryOrder(ncclComm_t communicator, ::cudaStream_t stream);
  /// Every rank's contribution comes whole to the rank that adds it, in rounds that fit the staging.
  Status exchangeInRankOrder(ncclComm_t communicator, void *stream);
  friend class NcclChannel;
  /// It has begun and ended, by the host's steady clock.
  void enter(int64_t time);
  void leave(int64_t time);

  NcclChannel &channel;
  uint64_t number; ///< of its channel: its marks are 2 * number and 2 * number + 1
  const StreamCollective what;
  DeviceFunction *sum;
  FlightRecord *record = nullptr;
};

} // namespace zero

#endif
