//===- collectives.cpp - Speed of collectives inside one machine ----------===//
//
// ninja zero-bench-collectives && mpirun -n 2 bin/zero-bench-collectives [MIB] [ROUNDS]: reduce_scatter and all_gather of MIB (default
// 64) of float32, read in place and by messages, beside all ranks copying as much with memcpy, in turn in each round. Rates are those of
// the least traffic that a collective needs (reads and writes of memory, over all ranks); `of copy` is that rate over the rate of the
// copies. Of the rounds the best and the median count; processor time is summed over the ranks, and a busy machine disturbs it less.
//
//===----------------------------------------------------------------------===//
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Device.h"
#include "zero/Runtime/HAL/Staging.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <sstream>

using namespace zero;

namespace {

double processorSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Case {
  const char *name;
  double traffic; ///< of a rank, in bytes
  std::function<Status()> run;
  std::vector<double> wall, processor;
};

double best(const std::vector<double> &seconds) { return *std::min_element(seconds.begin(), seconds.end()); }
double median(std::vector<double> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

/// Of each round what all ranks took together: the time of the slowest, the processor time of all.
Status joinRanks(Case &one, Bootstrap &bootstrap) {
  std::ostringstream mine;
  mine.precision(17);
  for (size_t i = 0; i < one.wall.size(); ++i)
    mine << one.wall[i] << " " << one.processor[i] << " ";
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, bootstrap.allGather(mine.str()));
  std::fill(one.wall.begin(), one.wall.end(), 0);
  std::fill(one.processor.begin(), one.processor.end(), 0);
  for (const std::string &rank : all) {
    std::istringstream words(rank);
    double wall = 0, processor = 0;
    for (size_t i = 0; words >> wall >> processor; ++i) {
      one.wall[i] = std::max(one.wall[i], wall);
      one.processor[i] += processor;
    }
  }
  return {};
}

Status runRank(Bootstrap &bootstrap, uint64_t bytes, unsigned rounds) {
  const unsigned rank = bootstrap.rank(), ranks = bootstrap.size();
  const uint64_t part = bytes / ranks / 4096 * 4096, elements = part / sizeof(float);
  bytes = part * ranks;
  std::unique_ptr<Device> device = createCpuDevice();
  // Shared is what collectives read, as in a plan: the bucket whose sum is scattered, and this rank's part of the one that is gathered.
  auto share = [&](uint64_t begin, uint64_t end) { return std::vector<ByteRange>{{begin, bootstrap.sharesMemory() ? end : begin}}; };
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> shared, device->allocate("sources", bytes, share(0, bytes)));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> own, device->allocate("targets", bytes, share(rank * part, (rank + 1) * part)));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> sums, device->allocate("sums", part, {}));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> copied, device->allocate("copied", 2 * bytes, {}));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> staging, device->allocate("staging", reduceScatterStagingBytes(part, ranks) + 4096, {}));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> messages, bootstrap.createChannel()); // before anything is shared
  ZERO_RETURN_IF_ERROR(bootstrap.share({shared->shared(), own->shared()}));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> inPlace, bootstrap.createChannel());
  auto *bucket = reinterpret_cast<float *>(shared->data()), *gathered = reinterpret_cast<float *>(own->data());
  for (uint64_t i = 0; i < elements * ranks; ++i) // zeros would not be sent
    bucket[i] = gathered[i] = static_cast<float>(i % 977 + 1) * 0.01f + static_cast<float>(rank);

  auto reduce = [&](Channel &channel) {
    return channel.reduceScatter(bucket, reinterpret_cast<float *>(sums->data()), elements, staging->data());
  };
  auto gather = [&](Channel &channel) { return channel.allGather(own->data() + rank * part, own->data(), part); };
  const double size = static_cast<double>(bytes), n = ranks;
  std::vector<Case> cases = {
      {"copy (memcpy)", 2 * size, [&] { return std::memcpy(copied->data(), copied->data() + bytes, bytes), Status(); }, {}, {}},
      {"reduce_scatter in place", (n + 1) / n * size, [&] { return reduce(*inPlace); }, {}, {}},
      {"reduce_scatter, messages", (n + 1) / n * size, [&] { return reduce(*messages); }, {}, {}},
      {"all_gather in place", 2 * (n - 1) / n * size, [&] { return gather(*inPlace); }, {}, {}},
      {"all_gather, messages", 2 * (n - 1) / n * size, [&] { return gather(*messages); }, {}, {}}};
  for (unsigned round = 0; round <= rounds; ++round)
    for (Case &one : cases) {
      ZERO_RETURN_IF_ERROR(bootstrap.agree({})); // all begin together
      double processor = processorSeconds();
      auto begin = std::chrono::steady_clock::now();
      ZERO_RETURN_IF_ERROR(one.run());
      double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (round == 0)
        continue; // pages are mapped
      one.wall.push_back(wall);
      one.processor.push_back(processorSeconds() - processor);
    }
  for (Case &one : cases)
    ZERO_RETURN_IF_ERROR(joinRanks(one, bootstrap));
  if (rank != 0)
    return {};
  std::printf("%u ranks, %.1f MiB, %u rounds%s\n", ranks, size / (1 << 20), rounds, bootstrap.sharesMemory() ? "" : "; no memory is shared, all are messages");
  std::printf("%-26s %10s %10s %8s %8s %8s %8s\n", "", "best ms", "median ms", "GB/s", "of copy", "(median)", "(processor)");
  auto rate = [&](const Case &one, double seconds) { return one.traffic * n / seconds / 1e9; };
  for (const Case &one : cases)
    std::printf("%-26s %10.2f %10.2f %8.1f %8.2f %8.2f %8.2f\n", one.name, best(one.wall) * 1e3, median(one.wall) * 1e3, rate(one, best(one.wall)),
                rate(one, best(one.wall)) / rate(cases[0], best(cases[0].wall)),
                rate(one, median(one.wall)) / rate(cases[0], median(cases[0].wall)),
                rate(one, best(one.processor)) / rate(cases[0], best(cases[0].processor)));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  uint64_t mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  unsigned rounds = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 15;
  if (!mebibytes || !rounds)
    return std::fprintf(stderr, "usage: mpirun -n N zero-bench-collectives [MIB] [ROUNDS]\n"), 2;
  JobOptions options;
  options.report = [](const Status &status) { std::fprintf(stderr, "zero-bench-collectives: %s\n", status.message().c_str()); };
  return runMpi(options, [&](Bootstrap &bootstrap) { return runRank(bootstrap, mebibytes << 20, rounds); });
}
