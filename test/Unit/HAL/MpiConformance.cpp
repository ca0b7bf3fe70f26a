//===- MpiConformance.cpp - The MPI channel, run under mpirun -------------===//
//
// MpiConformance [conform | fail | stick | refuse | throw | stop | exit | kill | stop-in-gather | stop-in-broadcast | stop-at-end]: with an argument
// other than `conform`, the last rank goes astray in that way. `stop`: SIGSTOP, in the middle of a stream of collectives.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/HAL/ChannelConformance.h"
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unistd.h>

using namespace zero;

static Status runRank(Bootstrap &bootstrap, const std::string &mode) {
  if (mode == "conform") {
    ZERO_RETURN_IF_ERROR(test::checkJob(bootstrap));
    if (bootstrap.rank() == 0)
      std::printf("%u ranks conform\n", bootstrap.size());
    return {};
  }
  bool last = bootstrap.rank() == bootstrap.size() - 1;
  if (mode == "refuse")
    return bootstrap.agree(last ? Status::badInput("refused") : Status());
  bootstrap.view().moveTo(7, JobView::kReadingData);
  if (mode == "stop-in-gather" || mode == "stop-in-broadcast") {
    ZERO_RETURN_IF_ERROR(bootstrap.agree({}));
    if (last)
      ::raise(SIGSTOP);
    char byte = 0;
    return mode == "stop-in-gather" ? bootstrap.allGather("x").status() : bootstrap.broadcast(&byte, 1, bootstrap.size() - 1);
  }
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
  if (mode == "stop-at-end") {
    bootstrap.view().moveTo(JobView::kExporting);
    if (last)
      ::raise(SIGSTOP);
    return {};
  }
  if (mode == "stop" || mode == "exit" || mode == "kill") {
    uint32_t name = bootstrap.view().addName({"all_gather", "b0", "w", "all_gather b0 (w ...)"});
    std::vector<char> target(bootstrap.size() * 3000000), source(3000000);
    for (int i = 0; i < 100; ++i) {
      channel->announce(name);
      ZERO_RETURN_IF_ERROR(channel->allGather(source.data(), target.data(), source.size()));
      if (last && i == 50)
        mode == "exit" ? ::_exit(0) : (void)::raise(mode == "stop" ? SIGSTOP : SIGKILL);
    }
    return {};
  }
  if (last && mode == "throw")
    throw std::runtime_error("thrown");
  if (last && mode == "fail")
    return Status::programFailed("failed");
  if (last && mode == "stick")
    std::this_thread::sleep_for(std::chrono::seconds(30));
  std::vector<char> target(bootstrap.size());
  return channel->allGather("x", target.data(), 1);
}

int main(int argc, char **argv) {
  JobOptions options;
  options.timeoutSeconds = 2;
  options.record = [](const JobView &, const std::vector<unsigned> &ranks) {
    return "; kept " + std::to_string(ranks.size()) + " ranks";
  };
  options.report = [](const Status &status) { std::fprintf(stderr, "MpiConformance: %s\n", status.message().c_str()); };
  std::string mode = argc > 1 ? argv[1] : "conform";
  if (mode == "conform")
    options.timeoutSeconds = 60;
  return runMpi(options, [&](Bootstrap &bootstrap) { return runRank(bootstrap, mode); });
}
