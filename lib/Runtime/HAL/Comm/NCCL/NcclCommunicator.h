//===- NcclCommunicator.h - A communicator of NCCL ------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCOMMUNICATOR_H
#define ZERO_LIB_RUNTIME_HAL_COMM_NCCL_NCCLCOMMUNICATOR_H

#include "lib/Runtime/HAL/Comm/NCCL/NcclTable.h"
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zero {

/// Shared by its channel and by whoever ends it, which may take longer than the channel lives.
class NcclCommunicator {
public:
  NcclCommunicator(const NcclTable &table, ncclComm_t handle) : table(table), handle(handle) {}
  NcclCommunicator(const NcclCommunicator &) = delete;
  NcclCommunicator &operator=(const NcclCommunicator &) = delete;

  /// A call of this rank that takes the handle: while one lives the communicator is not freed if that can be helped.
  class Call;

  Status registerMemory(const std::vector<std::pair<void *, uint64_t>> &memory);
  /// What NCCL found out by itself; ncclSuccess where nothing, or where it was given up.
  ncclResult_t asynchronousError() const;
  Status status(ncclResult_t result, const char *call) const { return table.status(result, call, handle); }

  /// No call begins any more.
  void forbidCalls();
  /// In the orderly way, after its last collective and graph, with its peers. May wait for them for ever.
  Status destroy();

private:
  friend void giveUp(const std::vector<std::shared_ptr<NcclCommunicator>> &communicators);
  /// Until no call is under way, or `deadline`.
  void awaitCalls(std::chrono::steady_clock::time_point deadline);

  const NcclTable &table;
  const ncclComm_t handle;
  std::vector<void *> registered;

  mutable std::mutex mutex; ///< never held during a call that may wait
  std::condition_variable idle;
  bool isForbidden = false;
  unsigned calls = 0; ///< under way
};

class NcclCommunicator::Call {
public:
  explicit Call(NcclCommunicator &communicator);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ncclComm_t handle; ///< null: given up

private:
  NcclCommunicator &communicator;
};

/// Ends what the communicators of a rank do on its streams, whatever their peers do. All in one group: the work of one may stand before that of
/// another, or keep memory from being freed. May take for ever (a library that cannot only stop work waits for graphs that captured it), and
/// the communicators are not used afterwards.
void giveUp(const std::vector<std::shared_ptr<NcclCommunicator>> &communicators);

} // namespace zero

#endif
