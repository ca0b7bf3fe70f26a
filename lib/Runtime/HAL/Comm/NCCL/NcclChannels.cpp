//===- NcclChannels.cpp - The NCCL communicators of a rank ----------------===//
#include "lib/Runtime/HAL/Comm/NCCL/NcclChannels.h"
#include "lib/Runtime/HAL/Comm/NCCL/NcclChannel.h"
#include <algorithm>

namespace zero {

NcclChannels::NcclChannels(const NcclJob &job)
    : job(job), connectName(job.bootstrap.view().addName({"connect", "nccl", "", "connecting NCCL"})),
      closeName(job.bootstrap.view().addName({"close", "nccl", "", "closing NCCL"})), watcher([this] { watch(); }) {}

NcclChannels::~NcclChannels() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  changed.notify_all();
  watcher.join();
  if (closed)
    return;
  giveUpAll();
  if (!givingUp)
    return; // there are none
  // It takes milliseconds. Where it does not, NCCL goes on using the device.
  constexpr auto kPatience = std::chrono::seconds(2);
  std::unique_lock lock(givingUp->mutex);
  if (!givingUp->changed.wait_for(lock, kPatience, [this] { return givingUp->status.has_value(); }))
    job.device.abandon();
}

Expected<std::unique_ptr<StreamChannel>> NcclChannels::create() {
  auto handle = connect();
  if (!handle.ok())
    return handle.status().annotate("connecting NCCL");
  auto communicator = std::make_shared<NcclCommunicator>(job.table, *handle);
  unsigned index;
  {
    std::lock_guard lock(mutex);
    communicators.push_back(communicator);
    index = static_cast<unsigned>(communicators.size());
  }
  ZERO_RETURN_IF_ERROR(communicator->registerMemory(job.options.memory));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<StreamMarks> marks, StreamMarks::create(job.device, job.program));
  return std::unique_ptr<StreamChannel>(std::make_unique<NcclChannel>(*this, std::move(communicator), std::move(marks), index));
}

Status NcclChannels::close() {
  if (job.bootstrap.failure().raised())
    return job.bootstrap.failure().status();
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  Status ended = callTogether(closeName, [device = &job.device, communicators = communicators]() -> Status {
    ZERO_RETURN_IF_ERROR(device->bindThread());
    for (const auto &communicator : communicators)
      ZERO_RETURN_IF_ERROR(communicator->destroy());
    return {};
  });
  if (!ended.ok()) // NCCL may still wait, and use the device when it goes on
    job.device.abandon();
  return ended.annotate("closing NCCL");
}

void NcclChannels::giveUpAll() {
  std::lock_guard lock(mutex);
  if (givingUp || closed || communicators.empty())
    return;
  givingUp = std::make_shared<Outcome>();
  {
    std::lock_guard marksLock(marksMutex);
    marked.clear();
  }
  for (const auto &communicator : communicators)
    communicator->forbidCalls();
  std::thread([outcome = givingUp, communicators = communicators] {
    giveUp(communicators);
    outcome->tell({});
  }).detach();
}

Status NcclChannels::callTogether(uint32_t name, std::function<Status()> call) {
  Bootstrap &bootstrap = job.bootstrap;
  constexpr unsigned kBootstrap = 0; // the channel of the JobView
  FlightRecord &record = bootstrap.view().enter(kBootstrap, name, 0);
  auto outcome = std::make_shared<Outcome>();
  std::thread([outcome, call = std::move(call)] { outcome->tell(call()); }).detach();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bootstrap.timeoutSeconds()));
  std::unique_lock lock(outcome->mutex);
  while (!outcome->changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return outcome->status.has_value(); })) {
    if (bootstrap.failure().raised())
      return Status::communication("given up after another failure");
    if (Clock::now() >= deadline)
      return bootstrap.view().timedOut(bootstrap.timeoutSeconds(), kBootstrap);
    ZERO_RETURN_IF_ERROR(bootstrap.view().endedRank(kBootstrap));
  }
  if (outcome->status->ok())
    bootstrap.view().leave(kBootstrap, record);
  return *outcome->status;
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
  // A communicator that is not there yet cannot be given up.
  auto communicator = std::make_shared<ncclComm_t>();
  const int ranks = static_cast<int>(bootstrap.size()), rank = static_cast<int>(bootstrap.rank());
  ZERO_RETURN_IF_ERROR(callTogether(connectName, [communicator, id, ranks, rank, &table, device = &job.device]() -> Status {
    Status status = device->bindThread();
    if (status.ok())
      if (ncclResult_t result = table.ncclCommInitRank(communicator.get(), ranks, id, rank); result != ncclSuccess)
        status = table.status(result, "ncclCommInitRank", nullptr);
    if (!status.ok() && ranks > 1) // the likeliest reason
      return {status.code(), status.message() + "; NCCL wants a GPU for each rank, --comm=mpi does without"};
    return status;
  }));
  return *communicator;
}

void NcclChannels::add(NcclChannel &channel) {
  std::scoped_lock lock(mutex, marksMutex);
  channels.push_back(&channel);
  if (!givingUp)
    marked.push_back(&channel);
}

void NcclChannels::remove(NcclChannel &channel) {
  std::scoped_lock lock(mutex, marksMutex);
  std::erase(channels, &channel);
  std::erase(marked, &channel);
}

void NcclChannels::collect() {
  struct Passed {
    NcclChannel *channel;
    StreamMarks::Passed mark;
  };
  std::lock_guard lock(marksMutex);
  std::vector<Passed> passed;
  for (NcclChannel *channel : marked)
    channel->marks->take([&](const StreamMarks::Passed &mark) { passed.push_back({channel, mark}); });
  std::stable_sort(passed.begin(), passed.end(), [](const Passed &a, const Passed &b) { return a.mark.time < b.mark.time; });
  for (const Passed &one : passed)
    one.channel->passed(one.mark);
}

void NcclChannels::watch() {
  // One look costs some microseconds.
  Failure &failure = job.bootstrap.failure();
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, kInterval, [this] { return closing; })) {
    collect();
    for (NcclChannel *channel : channels)
      if (!failure.raised())
        if (Status problem = channel->findProblem(); !problem.ok())
          failure.raise(problem);
    if (failure.raised()) {
      lock.unlock();
      return giveUpAll();
    }
  }
}

Expected<std::unique_ptr<StreamChannels>> createNcclChannels(Bootstrap &bootstrap, StreamDevice &device, DeviceModule &program,
                                                             const StreamChannelOptions &options) {
  auto table = NcclTable::load();
  if (!table.ok())
    return bootstrap.agree(table.status());
  ZERO_RETURN_IF_ERROR(bootstrap.agree({}));
  return std::unique_ptr<StreamChannels>(std::make_unique<NcclChannels>(NcclJob{**table, bootstrap, device, program, options}));
}

} // namespace zero
