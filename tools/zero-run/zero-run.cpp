//===- zero-run.cpp - Runs a compiled program -----------------------------===//
#include "tools/zero-run/Flags.h"
#include "zero/Container/Container.h"
#include "zero/Container/PlanView.h"
#include "zero/Runtime/Base/Env.h"
#include "zero/Runtime/Base/ProcessMemory.h"
#include "zero/Runtime/Executor/Executor.h"
#include "zero/Runtime/Executor/FlightRecorder.h"
#include "zero/Runtime/Executor/ShowProgram.h"
#include <cstdio>
#include <iostream>

using namespace zero;

static void report(const Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "zero-run: %s\n", status.message().c_str());
}

/// Says the error (on one of the ranks whose command has it) and gives its exit code.
static int fail(const Status &status) {
  if (env::isFirstOfItsCommand())
    report(status);
  return status.exitCode();
}

/// The ranks of this process: none where it is one rank of an MPI job.
static Expected<unsigned> loopbackRanks(const RunFlags &flags) {
  constexpr unsigned kMpi = 0;
  if (env::startedByMpirun()) {
    if (flags.comm == CommKind::Loopback)
      return Status::badInput("--comm=loopback runs all ranks in one process: start it without mpirun");
    return kMpi;
  }
  if (flags.comm && *flags.comm != CommKind::Loopback)
    return kMpi;
  ZERO_ASSIGN_OR_RETURN(Container container, Container::open(flags.training.program));
  // Thousands of threads would take a minute to agree on it.
  if (flags.ranks)
    ZERO_RETURN_IF_ERROR(checkWorldSize(container, flags.ranks));
  unsigned worldSize = container.plan().world_size();
  if (worldSize > 1 && !flags.comm)
    return Status::badInput("'" + flags.training.program + "' is compiled for " + std::to_string(worldSize) +
                            " ranks, this is one process: start it with mpirun -n " + std::to_string(worldSize) +
                            ", run all ranks in this process with --comm=loopback, or recompile with: " +
                            recompileCommand(container, 1));
  return worldSize;
}

int main(int argc, char **argv) {
  const uint64_t bytesAtStart = processBytes(), peakAtStart = peakResidentBytes();
  std::string output;
  auto parsed = parseFlags(argc, argv, output);
  if (!parsed.ok())
    return fail(parsed.status());
  if (!*parsed) {
    if (env::launchedRank() == 0)
      std::fputs(output.c_str(), stdout);
    return 0;
  }
  RunFlags &flags = **parsed;
  flags.training.processBytesAtStart = bytesAtStart;
  flags.training.peakResidentBytesAtStart = peakAtStart;
  if (flags.traces) {
    if (env::startedByMpirun())
      return fail(Status::badInput("--device=trace shows rank 0 alone: start it without mpirun"));
    Status shown = showProgram(flags.training.program, std::max<uint64_t>(flags.training.steps, 1), std::cout);
    if (std::cout.flush(); shown.ok() && !std::cout)
      shown = Status::badInput("cannot write standard output");
    return shown.ok() ? 0 : fail(shown);
  }
  auto ranks = loopbackRanks(flags);
  if (!ranks.ok())
    return fail(ranks.status());

  Training training(flags.training);
  JobOptions options;
  options.timeoutSeconds = flags.timeoutSeconds;
  options.report = report;
  options.linkBytesPerSecond = flags.linkBytesPerSecond;
  options.sharedMemory = flags.sharedMemory;
  if (!flags.flightRecorder.empty())
    options.record = [&](const JobView &view, const std::vector<unsigned> &ranks) {
      return writeFlightRecords(flags.flightRecorder, view, ranks);
    };
  auto body = [&](Bootstrap &bootstrap) -> Status {
    // Of a folder that nobody named it is enough to say why it is not written when it is missed.
    if (flags.flightRecorderGiven)
      ZERO_RETURN_IF_ERROR(bootstrap.agree(checkFlightRecorder(flags.flightRecorder)));
    return training.run(bootstrap);
  };
  return *ranks ? runLoopback(*ranks, options, body) : runMpi(options, body);
}
