//===- MpiConformance.cpp - The MPI channel, run under mpirun -------------===//
//
// MpiConformance [conform | small-pages | messages | machines | fail | stick | refuse | throw | stop | exit | kill | stop-in-gather | stop-in-broadcast | stop-at-end | short | unmappable]: with an argument
// behind `machines`, the last rank goes astray in that way. `stop`: SIGSTOP, in the middle of a stream of collectives. `conform` reads
// in place what it can, `small-pages` without large pages, `messages` nothing; for `machines` ranks 0, 1 and the others are on two. With a second argument `shared` the
// memory of `stop`, `exit` and `kill` is.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/HAL/ChannelConformance.h"
#include "zero/Runtime/Base/Env.h"
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

using namespace zero;

static bool isConformance(const std::string &mode) {
  return mode == "conform" || mode == "small-pages" || mode == "messages" || mode == "machines";
}

static Status runRank(Bootstrap &bootstrap, const std::string &mode, bool shared) {
  if (isConformance(mode)) {
    ZERO_RETURN_IF_ERROR(test::checkJob(bootstrap));
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    ZERO_RETURN_IF_ERROR(test::checkZeros(*channel, bootstrap.rank(), bootstrap.size(), 262144));
    // Most of what is sent there are zeros.
    const bool omits = channel->bytesOmitted() > channel->bytesSent() / 2;
    if (bootstrap.rank() == 0)
      std::printf("%u ranks conform%s%s%s\n", bootstrap.size(), bootstrap.sharesMemory() ? " and read in place" : "",
                  bootstrap.bytesOfPeers() ? ", in small pages" : "", omits ? ", zeros are left out" : "");
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
  constexpr size_t kBytes = 3000000;
  std::unique_ptr<Device> device = createCpuDevice();
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, device->allocate("source", kBytes, {{0, shared ? kBytes : 0}}));
  if (mode == "unmappable")
    return bootstrap.share({{arena->data(), kBytes, /*file=*/-1, /*inLargePages=*/false, {{0, kBytes}}}});
  ZERO_RETURN_IF_ERROR(bootstrap.share({arena->shared()}));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
  if (mode == "stop-at-end") {
    bootstrap.view().moveTo(JobView::kExporting);
    if (last)
      ::raise(SIGSTOP);
    return {};
  }
  if (mode == "short") { // all others send zeros, so few bytes that they fit everywhere
    const std::vector<char> own(4096, last ? 'x' : '\0');
    std::vector<char> all(bootstrap.size() * own.size());
    return channel->allGather(own.data(), all.data(), last ? 4000 : 4096);
  }
  if (mode == "stop" || mode == "exit" || mode == "kill") {
    uint32_t name = bootstrap.view().addName({"all_gather", "b0", "w", "all_gather b0 (w ...)"});
    std::vector<char> target(bootstrap.size() * kBytes);
    for (int i = 0; i < 100; ++i) {
      channel->announce(name);
      ZERO_RETURN_IF_ERROR(channel->allGather(arena->data(), target.data(), kBytes));
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
  if (mode == "small-pages")
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (isConformance(mode))
    options.timeoutSeconds = 60;
  options.sharedMemory = mode != "messages";
  if (mode == "machines")
    options.machine = env::launchedRank() < 2 ? "first" : "second";
  bool shared = argc > 2 && std::string(argv[2]) == "shared";
  return runMpi(options, [&](Bootstrap &bootstrap) { return runRank(bootstrap, mode, shared); });
}
