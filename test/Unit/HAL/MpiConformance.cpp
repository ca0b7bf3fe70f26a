//===- MpiConformance.cpp - The MPI channel, run under mpirun -------------===//
//
// MpiConformance [conform | fail | stick | refuse]: with an argument other than `conform`, the last rank goes astray in that way.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/HAL/ChannelConformance.h"
#include <cstdio>
#include <thread>

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
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
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
  options.report = [](const Status &status) { std::fprintf(stderr, "MpiConformance: %s\n", status.message().c_str()); };
  std::string mode = argc > 1 ? argv[1] : "conform";
  if (mode == "conform")
    options.timeoutSeconds = 60;
  return runMpi(options, [&](Bootstrap &bootstrap) { return runRank(bootstrap, mode); });
}
