//===- NcclChannels.h - The NCCL communicators of a rank ------------------===//
//
// Commands are enqueued by one thread in the order of the plan, so communicators never wait for one another in a circle. Another thread
// looks from time to time at the marks that streams have passed, and watches all communicators: NCCL's own errors, ranks that have ended, collectives that take too long. What it finds becomes the rank's failure,
// and the communicators are given up so that the streams come to an end. NCCL may take for ever to connect, to destroy and to give up: a
// thread of its own does each of these, for which others wait as long as they want to.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNELS_H
#define ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNELS_H

#include "lib/Runtime/HAL/Comm/NCCL/NcclCommunicator.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Stream.h"
#include "zero/Runtime/HAL/StreamChannel.h"
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace zero {

class NcclChannel;

/// What all channels of a rank use.
struct NcclJob {
  const NcclTable &table;
  Bootstrap &bootstrap;
  StreamDevice &device;
  DeviceModule &program;
  const StreamChannelOptions options;
};

class NcclChannels final : public StreamChannels {
public:
  /// Between two looks of the watcher.
  static constexpr auto kInterval = std::chrono::milliseconds(20);

  explicit NcclChannels(const NcclJob &job);
  ~NcclChannels() override;
  Expected<std::unique_ptr<StreamChannel>> create() override;
  Status close() override;

private:
  friend class NcclChannel;
  friend class NcclCollective;
  /// The communicator of the next channel, made of all ranks.
  Expected<ncclComm_t> connect();
  /// Calls `call`, which waits for all ranks, on a thread that is left behind where they do not come in time. `name`: of the JobView.
  Status callTogether(uint32_t name, std::function<Status()> call);
  /// Lets a thread of its own give up all communicators; once.
  void giveUpAll();
  /// Takes the marks that streams have passed: of all channels in the order of their times.
  void collect();
  void add(NcclChannel &channel);
  void remove(NcclChannel &channel);
  /// Looks at all channels until the end, or until one has failed.
  void watch();

  /// What a thread that may be left behind tells.
  struct Outcome {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Status> status;
    void tell(const Status &outcome) {
      std::lock_guard lock(mutex);
      status = outcome;
      changed.notify_all();
    }
  };

  const NcclJob job;
  const uint32_t connectName, closeName;

  std::mutex mutex; ///< never held during a call of NCCL that may wait
  std::condition_variable changed;
  std::vector<NcclChannel *> channels;
  std::vector<std::shared_ptr<NcclCommunicator>> communicators;
  std::shared_ptr<Outcome> givingUp; ///< null before
  bool closed = false;               ///< or has tried to: they are nobody's business any more
  bool closing = false;
  /// Of whoever takes marks, and of what channels keep for that.
  std::mutex marksMutex;
  std::vector<NcclChannel *> marked; ///< none once communicators are given up: what is passed then says nothing
  std::thread watcher;
};

} // namespace zero

#endif
