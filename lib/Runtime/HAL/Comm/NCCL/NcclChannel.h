//===- NcclChannel.h - One NCCL communicator, for the collectives of a queue ==//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNEL_H
#define ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNEL_H

#include "lib/Runtime/HAL/Comm/NCCL/NcclChannels.h"

namespace zero {

class NcclCollective;

class NcclChannel final : public StreamChannel {
public:
  /// `communicator` connects the ranks of the job; its owner ends it. `index`: of the channel in the JobView.
  NcclChannel(NcclChannels &owner, std::shared_ptr<NcclCommunicator> communicator, unsigned index);
  ~NcclChannel() override;

  Expected<std::unique_ptr<PreparedCollective>> prepare(const StreamCollective &collective) override;
  bool blocks() const override { return false; }

  /// What is wrong with the collective that the stream is in, or with the communicator; asked by the watcher, from time to time.
  Status findProblem();

private:
  friend class NcclCollective;
  using Clock = std::chrono::steady_clock;

  NcclChannels &owner;
  const NcclJob &job;
  const unsigned index;
  const std::shared_ptr<NcclCommunicator> communicator;

  /// The collective that the stream has come to and not left.
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
  /// What a stream calls: after a failure it may do so later than the collective lives.
  struct Gate {
    std::mutex mutex;
    NcclCollective *collective; ///< null: it has ended
  };
  template <void (NcclCollective::*function)()> static void pass(void *gate);

  Status exchange(ncclComm_t communicator, void *stream);
  Status exchangeInLibraryOrder(ncclComm_t communicator, ::cudaStream_t stream);
  /// Every rank's contribution comes whole to the rank that adds it, in rounds that fit the staging.
  Status exchangeInRankOrder(ncclComm_t communicator, void *stream);
  /// On a thread of the device, in the order of the stream.
  void enter();
  void leave();

  NcclChannel &channel;
  const StreamCollective what;
  DeviceFunction *sum;
  FlightRecord *record = nullptr;
  std::unique_ptr<Gate> gate;
};

} // namespace zero

#endif
