//===- NcclChannels.cpp - The NCCL communicators of a rank ----------------===//
#include "lib/Runtime/HAL/Comm/NCCL/NcclChannels.h"
#include "lib/Runtime/HAL/Comm/NCCL/NcclChannel.h"
#include <algorithm>

namespace zero {

NcclChannels::NcclChannels(const NcclJob &job)
    : job(job), connectName(job.bootstrap.view().addName({"connect", "nccl", "", "connecting NCCL"})), watcher([this] { watch(); }) {}

NcclChannels::~NcclChannels() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  changed.notify_all();
  watcher.join();
}

Expected<std::unique_ptr<StreamChannel>> NcclChannels::create() {
  auto communicator = connect();
  if (!communicator.ok())
    return communicator.status().annotate("connecting NCCL");
  auto channel = std::make_unique<NcclChannel>(*this, *communicator, ++created);
  ZERO_RETURN_IF_ERROR(channel->registerMemory());
  return std::unique_ptr<StreamChannel>(std::move(channel));
}

Expected<ncclComm_t> NcclChannels::connect() {
  Bootstrap &bootstrap = job.bootstrap;
  const NcclTable &table = job.table;
  ncclUniqueId id = {};
  Status made;
  if (bootstrap.rank() == 0)
    made = [&]() -> Status {
      ZERO_NCCL(table, nullptr, ncclGetUniqueId, &id);
      return {};
    }();
  ZERO_RETURN_IF_ERROR(bootstrap.agree(made));
  ZERO_RETURN_IF_ERROR(bootstrap.broadcast(&id, sizeof id, 0));

  // NCCL waits here for every rank for as long as it takes, and a communicator that is not there yet cannot be aborted: so a thread of its
  // own waits, which is left behind where the job ends.
  struct Attempt {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    Status status;
    ncclComm_t communicator = nullptr;
  };
  auto attempt = std::make_shared<Attempt>();
  const int ranks = static_cast<int>(bootstrap.size()), rank = static_cast<int>(bootstrap.rank());
  constexpr unsigned kBootstrap = 0; // the channel of the JobView
  FlightRecord &record = bootstrap.view().enter(kBootstrap, connectName, sizeof id);
  std::thread([attempt, id, ranks, rank, &table, &device = job.device] {
    ncclComm_t communicator = nullptr;
    Status status = device.bindThread();
    if (status.ok())
      if (ncclResult_t result = table.ncclCommInitRank(&communicator, ranks, id, rank); result != ncclSuccess)
        status = table.status(result, "ncclCommInitRank", nullptr);
    if (!status.ok() && ranks > 1) // the likeliest reason
      status = {status.code(), status.message() + "; NCCL wants a GPU for each rank, --comm=mpi does without"};
    std::lock_guard lock(attempt->mutex);
    attempt->done = true;
    attempt->status = status;
    attempt->communicator = communicator;
    attempt->changed.notify_all();
  }).detach();

  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bootstrap.timeoutSeconds()));
  std::unique_lock lock(attempt->mutex);
  while (!attempt->changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return attempt->done; })) {
    if (bootstrap.failure().raised())
      return Status::communication("given up after another failure");
    if (Clock::now() >= deadline)
      return bootstrap.view().timedOut(bootstrap.timeoutSeconds(), kBootstrap);
    ZERO_RETURN_IF_ERROR(bootstrap.view().endedRank(kBootstrap));
  }
  ZERO_RETURN_IF_ERROR(attempt->status);
  bootstrap.view().leave(kBootstrap, record);
  return attempt->communicator;
}

void NcclChannels::add(NcclChannel &channel) {
  std::lock_guard lock(mutex);
  channels.push_back(&channel);
}

void NcclChannels::remove(NcclChannel &channel) {
  std::lock_guard lock(mutex);
  std::erase(channels, &channel);
}

void NcclChannels::watch() {
  // One look costs less than a microsecond for each channel.
  constexpr auto kInterval = std::chrono::milliseconds(20);
  Failure &failure = job.bootstrap.failure();
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, kInterval, [this] { return closing; })) {
    for (NcclChannel *channel : channels)
      if (!failure.raised())
        if (Status problem = channel->findProblem(); !problem.ok())
          failure.raise(problem);
    if (failure.raised()) {
      for (NcclChannel *channel : channels)
        channel->abort();
      return;
    }
  }
}

Expected<std::unique_ptr<StreamChannels>> createNcclChannels(Bootstrap &bootstrap, StreamDevice &device, DeviceModule *program,
                                                             const StreamChannelOptions &options) {
  auto table = NcclTable::load();
  if (!table.ok())
    return bootstrap.agree(table.status());
  ZERO_RETURN_IF_ERROR(bootstrap.agree({}));
  return std::unique_ptr<StreamChannels>(std::make_unique<NcclChannels>(NcclJob{**table, bootstrap, device, program, options}));
}

} // namespace zero
