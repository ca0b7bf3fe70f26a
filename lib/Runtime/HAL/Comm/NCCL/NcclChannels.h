//===- NcclChannels.h - The NCCL communicators of a rank ------------------===//
//
// Commands are enqueued by one thread in the order of the plan, so communicators never wait for one another in a circle. Another thread
// watches all of them: NCCL's own errors, ranks that have ended, collectives that take too long. What it finds becomes the rank's failure,
// and the communicators are aborted so that the streams come to an end.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNELS_H
#define ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCHANNELS_H

#include "lib/Runtime/HAL/Comm/NCCL/NcclTable.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Stream.h"
#include "zero/Runtime/HAL/StreamChannel.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace zero {

class NcclChannel;

/// What all channels of a rank use.
struct NcclJob {
  const NcclTable &table;
  Bootstrap &bootstrap;
  StreamDevice &device;
  DeviceModule *program; ///< may be null
  const StreamChannelOptions options;
};

class NcclChannels final : public StreamChannels {
public:
  explicit NcclChannels(const NcclJob &job);
  ~NcclChannels() override;
  Expected<std::unique_ptr<StreamChannel>> create() override;

private:
  friend class NcclChannel;
  /// The communicator of the next channel, made of all ranks; NCCL's own waits have no bound, this one has.
  Expected<ncclComm_t> connect();
  void add(NcclChannel &channel);
  void remove(NcclChannel &channel);
  /// Looks at all channels until the end, or until one has failed.
  void watch();

  const NcclJob job;
  const uint32_t connectName;
  unsigned created = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<NcclChannel *> channels;
  bool closing = false;
  std::thread watcher;
};

} // namespace zero

#endif
