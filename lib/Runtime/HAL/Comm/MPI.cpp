//===- MPI.cpp - The ranks of a job that mpirun started -------------------===//
#include "lib/Runtime/HAL/Comm/MPIChannel.h"
#include "lib/Runtime/HAL/Comm/RunBody.h"
#include "lib/Runtime/HAL/Comm/SharedJobView.h"
#include "lib/Runtime/HAL/Comm/Siblings.h"
#include "lib/Runtime/HAL/Comm/Timeout.h"
#include "lib/Runtime/HAL/Comm/Watchdog.h"
#include "zero/Runtime/Base/Env.h"
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace zero {
namespace {

class MpiBootstrap final : public Bootstrap, private MpiWaiter {
public:
  MpiBootstrap(MPI_Comm communicator, const JobOptions &options, std::unique_ptr<SharedJobView> view)
      : communicator(communicator), options(options), jobView(std::move(view)), own(static_cast<int>(jobView->rank())),
        count(static_cast<int>(jobView->size())), broadcastName(addExchange(*jobView, "broadcast")),
        gatherName(addExchange(*jobView, "all_gather")) {}
  unsigned rank() const override { return static_cast<unsigned>(own); }
  unsigned size() const override { return static_cast<unsigned>(count); }
  Failure &failure() override { return theFailure; }
  JobView &view() override { return *jobView; }
  double timeoutSeconds() const override { return options.timeoutSeconds; }

  /// The first exchange: from then on the ranks of a machine see each other.
  Status introduce() {
    ZERO_ASSIGN_OR_RETURN(std::vector<std::string> introductions, allGather(jobView->introduction()));
    jobView->meet(introductions);
    return {};
  }

  Status broadcast(void *data, uint64_t size, unsigned root) override {
    FlightRecord &record = jobView->enter(0, broadcastName, size);
    // A message of MPI counts in int.
    for (uint64_t offset = 0; offset < size;) {
      uint64_t part = std::min<uint64_t>(size - offset, INT_MAX);
      MPI_Request request;
      ZERO_MPI(MPI_Ibcast(static_cast<char *>(data) + offset, static_cast<int>(part), MPI_BYTE, static_cast<int>(root),
                          communicator, &request));
      ZERO_RETURN_IF_ERROR(wait(&request));
      offset += part;
    }
    jobView->leave(0, record);
    return {};
  }

  Expected<std::vector<std::string>> allGather(const std::string &mine) override {
    if (mine.size() > INT_MAX / size())
      return Status::programFailed("a rank's " + std::to_string(mine.size()) + " bytes are too many to exchange at once");
    FlightRecord &record = jobView->enter(0, gatherName, mine.size());
    int length = static_cast<int>(mine.size());
    std::vector<int> lengths(size()), offsets(size());
    MPI_Request request;
    ZERO_MPI(MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, communicator, &request));
    ZERO_RETURN_IF_ERROR(wait(&request));
    for (unsigned i = 1; i < size(); ++i)
      offsets[i] = offsets[i - 1] + lengths[i - 1];
    std::string all(static_cast<size_t>(offsets.back()) + lengths.back(), '\0');
    ZERO_MPI(MPI_Iallgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(), offsets.data(), MPI_BYTE,
                             communicator, &request));
    ZERO_RETURN_IF_ERROR(wait(&request));
    jobView->leave(0, record);
    std::vector<std::string> parts;
    for (unsigned i = 0; i < size(); ++i)
      parts.push_back(all.substr(static_cast<size_t>(offsets[i]), static_cast<size_t>(lengths[i])));
    return parts;
  }

  Expected<std::unique_ptr<Channel>> createChannel() override {
    MPI_Comm duplicate;
    MPI_Request request;
    ZERO_MPI(MPI_Comm_idup(communicator, &duplicate, &request));
    ZERO_RETURN_IF_ERROR(wait(&request));
    ZERO_MPI(MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN));
    return std::unique_ptr<Channel>(
        std::make_unique<MpiChannel>(duplicate, ++created, *jobView, peers.get(), options.timeoutSeconds, theFailure));
  }

  bool sharesMemory() const override { return options.sharedMemory && hasNeighbours(); }

  Status share(std::vector<SharedMemory> memory) override {
    std::unique_ptr<SharedPeers> mine;
    std::string introduction;
    if (sharesMemory()) {
      ZERO_ASSIGN_OR_RETURN(mine, SharedPeers::create(rank(), std::move(memory)));
      introduction = mine->introduction();
    }
    ZERO_ASSIGN_OR_RETURN(std::vector<std::string> introductions, allGather(introduction));
    // All ranks of a machine, or none: each knows what the others do.
    for (unsigned other = 0; other < size(); ++other)
      if (jobView->processOf(other) && introductions[other].empty())
        mine = nullptr;
    Status met = mine ? mine->meet(introductions, *jobView) : Status();
    peers = std::move(mine);
    return agree(met);
  }

  uint64_t bytesOfPeers() const override { return peers ? peers->bytesOfPeers() : 0; }

  void abort(const Status &error) override {
    std::string kept;
    if (error.code() == ErrorCode::Communication && options.record)
      kept = options.record(*jobView, {rank()}); // before a rank that speaks first ends this one
    std::vector<unsigned> visible = jobView->visibleRanks();
    // Ranks that time out together: one of those that see each other speaks, and of several machines the lowest.
    if (error.code() == ErrorCode::Communication && visible.size() < size())
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(own, 20) * 100));
    if (!jobView->claimReport()) {
      std::this_thread::sleep_for(std::chrono::seconds(5)); // the one that speaks ends this one
    } else {
      if (error.code() == ErrorCode::Communication && options.record)
        kept = options.record(*jobView, visible);
      Status status(error.code(), error.message() + kept);
      if (options.report)
        options.report(size() > 1 ? status.annotate("rank " + std::to_string(own)) : status);
    }
    MPI_Abort(communicator, error.exitCode());
  }

private:
  bool hasNeighbours() const {
    for (unsigned other = 0; other < size(); ++other)
      if (jobView->processOf(other))
        return true;
    return false;
  }
  Status wait(MPI_Request *request) {
    return waitForRequests(request, 1, MPI_STATUSES_IGNORE, options.timeoutSeconds, theFailure, *this, pace);
  }
  Status findEnded() override { return jobView->endedRank(0); }
  Status describeTimeout(double seconds) override {
    // Before the introductions nobody is seen.
    if (std::string lost = stoppedSiblings(); !lost.empty() && jobView->visibleRanks().size() < size())
      return Status::communication("starting: " + timeoutMessage(seconds) + lost);
    return jobView->timedOut(seconds, 0);
  }

  MPI_Comm communicator;
  const JobOptions &options;
  std::unique_ptr<SharedJobView> jobView;
  std::unique_ptr<SharedPeers> peers; ///< null: all is messages
  const int own, count;
  const uint32_t broadcastName, gatherName;
  unsigned created = 0;
  Failure theFailure;
  MpiPace pace;
};

/// Ends this process where MPI itself waits for a rank that does not come: mpirun ends the others.
void endLate(const JobOptions &options, const std::string &where) {
  std::string lost = stoppedSiblings();
  // The lowest rank of this machine that can speaks.
  if (options.report && env::launchedRank() == lowestSpeaker())
    options.report(Status::communication(where + ": " + timeoutMessage(options.timeoutSeconds) +
                                         (lost.empty() ? "another rank" : lost)));
  else
    std::this_thread::sleep_for(std::chrono::seconds(5));
  std::fflush(stdout);
  std::_Exit(static_cast<int>(ErrorCode::Communication));
}

Status startMpi(const JobOptions &options) {
  Watchdog watchdog(options.timeoutSeconds, [&] { endLate(options, "starting MPI"); });
  env::chooseMessagesWithinMachine();
  int granted = MPI_THREAD_SINGLE;
  if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &granted); code != MPI_SUCCESS)
    return Status::communication("MPI does not start: error " + std::to_string(code));
  if (granted < MPI_THREAD_SERIALIZED)
    return Status::communication("this MPI lets one thread alone call it; queues need MPI_THREAD_SERIALIZED");
  MpiLock::setRequired(granted < MPI_THREAD_MULTIPLE);
  ZERO_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  return {};
}

} // namespace

int runMpi(const JobOptions &options, const std::function<Status(Bootstrap &)> &body) {
  Status started = startMpi(options);
  int rank = 0, size = 1;
  Expected<std::unique_ptr<SharedJobView>> view = started;
  if (started.ok()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    view = SharedJobView::create(static_cast<unsigned>(rank), static_cast<unsigned>(size), options.machine);
  }
  if (!view.ok()) {
    if (options.report)
      options.report(view.status());
    return view.status().exitCode();
  }
  int exitCode = 0;
  {
    MpiBootstrap bootstrap(MPI_COMM_WORLD, options, std::move(*view));
    Status status = bootstrap.introduce();
    if (status.ok())
      status = runBody(body, bootstrap);
    exitCode = status.exitCode();
    if (!status.ok() && !bootstrap.agreedOnError())
      bootstrap.abort(status);
    else if (!status.ok() && bootstrap.rank() == 0 && options.report)
      options.report(status);
    bootstrap.view().moveTo(JobView::kFinished);
  }
  Watchdog watchdog(options.timeoutSeconds, [&] { endLate(options, "ending MPI"); });
  MPI_Finalize();
  return exitCode;
}

} // namespace zero
