//===- Bootstrap.h - The ranks of a job find and understand each other ----===//
//
// Every rank calls every function here in the same order. Equivalent to: MPI_COMM_WORLD, torch.distributed's store.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_BOOTSTRAP_H
#define ZERO_RUNTIME_HAL_BOOTSTRAP_H

#include "zero/Runtime/HAL/Arena.h"
#include "zero/Runtime/HAL/Channel.h"
#include "zero/Runtime/HAL/Failure.h"
#include "zero/Runtime/HAL/JobView.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zero {

class Bootstrap {
public:
  virtual ~Bootstrap() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  /// This rank's failure, which ends its waits.
  virtual Failure &failure() = 0;
  /// Where this rank and its peers are.
  virtual JobView &view() = 0;
  /// Longest wait for a peer.
  virtual double timeoutSeconds() const = 0;

  virtual Status broadcast(void *data, uint64_t size, unsigned root) = 0;
  /// Every rank's bytes, in rank order. For small data.
  virtual Expected<std::vector<std::string>> allGather(const std::string &mine) = 0;
  virtual Expected<std::unique_ptr<Channel>> createChannel() = 0;

  /// Whether other ranks of this machine would read memory of this rank in place, if it is allocated so that it can be shared.
  virtual bool sharesMemory() const { return false; }
  /// Lets the ranks of this machine read `memory` in place: collectives of channels that are created from now on send no messages
  /// between ranks of a machine whose sources all lie in what was shared. `memory` outlives the channels. May be called once.
  virtual Status share(std::vector<SharedMemory> memory) { return {}; }
  /// Bytes of other ranks' memory that this process has mapped: they are in its resident set, and not its own.
  virtual uint64_t bytesOfPeers() const { return 0; }

  /// Ends the job on all ranks because of an error that this rank alone knows. Where it returns, no peer touches this
  /// rank's buffers any more: call it while they live.
  virtual void abort(const Status &error) = 0;

  /// The same outcome on all ranks: success, or the error of the lowest rank that has one, naming the rank unless all
  /// ranks have the same error.
  Status agree(const Status &mine);
  /// Whether the last `agree` was about an error: then every rank knows of it.
  bool agreedOnError() const { return failedTogether; }

private:
  bool failedTogether = false;
};

/// Which of the devices that it sees a rank takes: `visible` are their UUIDs, which say for the ranks of a machine whether they see the same ones.
/// Rank by rank, the first of those that the fewest ranks of the machine have yet. Every rank calls it; all have the same error where one
/// sees none, or where not `shared` and one finds none of its own.
Expected<unsigned> chooseDevice(Bootstrap &bootstrap, const Expected<std::vector<std::string>> &visible, bool shared);

struct JobOptions {
  /// A wait for a peer that takes longer ends the job.
  double timeoutSeconds = 60;
  /// Called once for a job that fails, by the process that knows why.
  std::function<void(const Status &)> report;
  /// Keeps what `view` shows of `ranks` after a rank was lost; gives what the message of the error ends with. May be called by
  /// several ranks. Not set: nothing is kept.
  std::function<std::string(const JobView &view, const std::vector<unsigned> &ranks)> record;
  /// Of loopback: what each rank's link carries in each direction, as bytes per second; 0: no link, memory is read.
  uint64_t linkBytesPerSecond = 0;
  /// Whether processes of one machine read each other's memory in place instead of exchanging messages.
  bool sharedMemory = true;
  /// What tells machines apart; empty: what the system says. For tests of jobs on several machines.
  std::string machine;
};

/// Rank `rank` of `size` alone, for a device that does not run: there are no peers, and its channels carry nothing.
std::unique_ptr<Bootstrap> createTraceBootstrap(unsigned rank, unsigned size);

/// Runs `body` once per rank, as threads of this process. Gives the exit code.
int runLoopback(unsigned ranks, const JobOptions &options, const std::function<Status(Bootstrap &)> &body);

/// Runs `body` as one rank of the job that mpirun started (as the only rank where none did). Gives the exit code; after a
/// failure that this rank alone knows it does not return.
int runMpi(const JobOptions &options, const std::function<Status(Bootstrap &)> &body);

} // namespace zero

#endif
