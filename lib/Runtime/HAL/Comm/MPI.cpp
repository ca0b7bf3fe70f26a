//===- MPI.cpp - The ranks of a job that mpirun started -------------------===//
#include "lib/Runtime/HAL/Comm/MPIChannel.h"
#include "lib/Runtime/HAL/Comm/MPIWait.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>

namespace zero {
namespace {

class MpiBootstrap final : public Bootstrap {
public:
  MpiBootstrap(MPI_Comm communicator, const JobOptions &options) : communicator(communicator), options(options) {
    MPI_Comm_rank(communicator, &own);
    MPI_Comm_size(communicator, &count);
  }
  unsigned rank() const override { return static_cast<unsigned>(own); }
  unsigned size() const override { return static_cast<unsigned>(count); }
  Failure &failure() override { return theFailure; }

  Status broadcast(void *data, uint64_t size, unsigned root) override {
    // A message of MPI counts in int.
    for (uint64_t offset = 0; offset < size;) {
      uint64_t part = std::min<uint64_t>(size - offset, INT_MAX);
      MPI_Request request;
      ZERO_MPI(MPI_Ibcast(static_cast<char *>(data) + offset, static_cast<int>(part), MPI_BYTE, static_cast<int>(root),
                          communicator, &request));
      ZERO_RETURN_IF_ERROR(wait(&request));
      offset += part;
    }
    return {};
  }

  Expected<std::vector<std::string>> allGather(const std::string &mine) override {
    if (mine.size() > INT_MAX / size())
      return Status::programFailed("a rank's " + std::to_string(mine.size()) + " bytes are too many to exchange at once");
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
        std::make_unique<MpiChannel>(duplicate, rank(), size(), options.timeoutSeconds, theFailure));
  }

  void abort(const Status &error) override {
    // Ranks that time out together: the lowest one speaks and ends the others.
    if (error.code() == ErrorCode::Communication)
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(own, 20) * 100));
    if (options.report)
      options.report(size() > 1 ? error.annotate("rank " + std::to_string(own)) : error);
    MPI_Abort(communicator, error.exitCode());
  }

private:
  Status wait(MPI_Request *request) {
    int unfinished = -1;
    Status status = waitForRequests(request, 1, options.timeoutSeconds, theFailure, unfinished);
    if (!status.ok() && unfinished >= 0)
      return {status.code(), status.message() + "another rank"};
    return status;
  }

  MPI_Comm communicator;
  const JobOptions &options;
  int own = 0, count = 1;
  Failure theFailure;
};

Status startMpi() {
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
  if (Status status = startMpi(); !status.ok()) {
    if (options.report)
      options.report(status);
    return status.exitCode();
  }
  int exitCode = 0;
  {
    MpiBootstrap bootstrap(MPI_COMM_WORLD, options);
    Status status = body(bootstrap);
    exitCode = status.exitCode();
    if (!status.ok() && !bootstrap.agreedOnError())
      bootstrap.abort(status);
    else if (!status.ok() && bootstrap.rank() == 0 && options.report)
      options.report(status);
  }
  MPI_Finalize();
  return exitCode;
}

} // namespace zero
