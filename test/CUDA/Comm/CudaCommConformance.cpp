//===- CudaCommConformance.cpp - Collectives of device memory, by many ranks ==//
//
// CudaCommConformance CHANNELS MODE [RANKS]: as RANKS threads of this process, or without RANKS as a process of a job that mpirun started.
// CHANNELS: nccl | deterministic | staged | claimed (as nccl, but the sums are said to be in rank order, which they are not) | nccl-shared (all
// ranks on one GPU) | no-kernels (as deterministic, without the kernels for it). MODE: conform (conform-small: up to a thousand elements), or how the last rank goes astray in the middle of a stream of collectives:
// stop (SIGSTOP) | kill (SIGKILL) | exit | stick | return (with an error of its own) | throw (an exception) | late (it does not come to the end of the
// channels) | absent (it comes to no communicator) | half (nor to the second one); `run` does nothing of that, for errors that
// are injected, nor do `wait`, which bounds waits as the others do, and `hang`, where streams need not come to their end.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/HAL/Comm/Watchdog.h"
#include "test/CUDA/Comm/StreamConformance.h"
#include "test/CUDA/Support/CompileText.h"
#include "zero/Runtime/HAL/OrderedSumKernel.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace zero;

namespace {

constexpr FloatType kTypes[] = {FloatType::F32, FloatType::F16, FloatType::BF16};
constexpr uint64_t kSizes[] = {1, 3, 64, 1000, 260095, 260097, 655360 + 17};
constexpr unsigned kSlowRanks = 2; // the largest sizes take long in the simulation

/// The kernels of channels; `sums`: those that add in rank order, too.
Expected<std::unique_ptr<DeviceModule>> compileKernels(StreamDevice &device, bool sums) {
  std::vector<std::string> texts = {"lib/Runtime/Kernels/CUDA/Mark.cuh"}, lines;
  if (!sums)
    return test::compileText(device, texts, lines);
  texts.push_back("lib/Runtime/Kernels/CUDA/OrderedSum.cuh");
  for (FloatType type : kTypes)
    for (FloatType target : kTypes)
      lines.push_back(orderedSumInstantiation(type, target));
  return test::compileText(device, texts, lines);
}

Status conform(Bootstrap &bootstrap, StreamDevice &device, StreamChannels &channels, std::byte *memory, uint64_t bytes, test::Sums sums, bool large) {
  bootstrap.view().moveTo(1, JobView::kReadingData);
  // Two channels, each with half of the memory, on streams of their own.
  std::unique_ptr<StreamChannel> channel[2];
  std::unique_ptr<Queue> queues[2];
  for (int i = 0; i < 2; ++i) {
    ZERO_ASSIGN_OR_RETURN(channel[i], channels.create());
    queues[i] = device.createQueue({"gather", 16, /*onCallingThread=*/true, 0}, bootstrap.failure());
  }
  auto check = [&](int i) -> Status {
    test::StreamConformance conformance(bootstrap, device, *channel[i], queues[i]->stream(), memory + i * (bytes / 2), bytes / 2, sums);
    for (uint64_t size : kSizes)
      if (size <= 1000 || (large && bootstrap.size() <= kSlowRanks))
        ZERO_RETURN_IF_ERROR(conformance.check(size));
    return {};
  };
  if (channel[0]->blocks()) { // at once, by two threads, as queues do
    Status other;
    std::thread thread([&] {
      other = device.bindThread();
      if (other.ok())
        other = check(1);
    });
    Status here = check(0);
    thread.join();
    ZERO_RETURN_IF_ERROR(here);
    ZERO_RETURN_IF_ERROR(other);
  } else { // one thread puts both on their streams, in the same order on all ranks
    ZERO_RETURN_IF_ERROR(check(0));
    ZERO_RETURN_IF_ERROR(check(1));
  }
  for (int i = 0; i < 2; ++i)
    queues[i]->finish();
  ZERO_RETURN_IF_ERROR(channels.close());
  if (bootstrap.rank() == 0)
    std::printf("%u ranks conform\n", bootstrap.size());
  return {};
}

constexpr const char *kOrigin = "reduce_scatter b2 (h.0.q ...)";

/// A collective on a stream of its own, later as a graph that holds on to it.
struct Exchange {
  Exchange(Bootstrap &bootstrap, StreamDevice &device, std::unique_ptr<StreamChannel> given, std::byte *memory)
      : bootstrap(bootstrap), device(device), channel(std::move(given)) {
    what.kind = StreamCollective::Kind::ReduceScatter;
    what.source = memory;
    what.target = memory + bootstrap.rank() * kElements * sizeof(float);
    what.staging = memory + bootstrap.size() * kElements * sizeof(float);
    what.elements = kElements;
    what.name = bootstrap.view().addName({"reduce_scatter", "b2", "h.0.q", kOrigin});
    what.origin = kOrigin;
    what.observer = &observer;
    what.stagingBytes = (bootstrap.size() - 1) * kElements * sizeof(float);
    what.wireBytes = (bootstrap.size() - 1) * what.bytesToEach();
  }
  Status prepare() {
    ZERO_ASSIGN_OR_RETURN(prepared, channel->prepare(what));
    queue = device.createQueue({"reduce", 16, /*onCallingThread=*/true, 0}, bootstrap.failure());
    return {};
  }
  Status enqueue(bool captured) {
    if (!captured)
      return prepared->enqueue(queue->stream());
    if (!graph) {
      ZERO_RETURN_IF_ERROR(device.beginCapture(queue->stream()));
      Status enqueued = prepared->enqueue(queue->stream());
      auto ended = device.endCapture(queue->stream());
      ZERO_RETURN_IF_ERROR(enqueued);
      ZERO_ASSIGN_OR_RETURN(graph, std::move(ended));
    }
    return graph->launch(queue->stream());
  }
  /// Whether what was enqueued comes to an end after a failure, whatever that is.
  bool ends() {
    std::atomic<bool> isThere = false;
    if (!device.callHost(queue->stream(), [](void *flag) { *static_cast<std::atomic<bool> *>(flag) = true; }, &isThere).ok())
      return true; // the device is lost
    for (int looks = 0; looks < 2000 && !isThere; ++looks)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return isThere;
  }

  static constexpr uint64_t kElements = 3000;
  Bootstrap &bootstrap;
  StreamDevice &device;
  std::unique_ptr<StreamChannel> channel;
  test::CountingObserver observer;
  StreamCollective what;
  std::unique_ptr<PreparedCollective> prepared;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<StreamGraph> graph; ///< ends first
};

/// Ends the process where `call` does not return, which is what a job must not do after a failure.
void expectToReturn(const char *what, const std::function<void()> &call) {
  Watchdog watchdog(20, [what] {
    std::fprintf(stderr, "CudaCommConformance: %s does not return after a failure\n", what);
    std::_Exit(9);
  });
  call();
}

/// What channels promise after a failure: what was enqueued comes to an end, nothing more is, and no call waits.
Status afterFailure(const std::vector<std::unique_ptr<Exchange>> &exchanges) {
  for (const auto &exchange : exchanges)
    if (!exchange->ends()) {
      std::fprintf(stderr, "CudaCommConformance: a stream does not come to its end after a failure\n");
      std::_Exit(9);
    }
  Status refused;
  expectToReturn("enqueue", [&] { refused = exchanges.back()->prepared->enqueue(exchanges.back()->queue->stream()); });
  if (refused.ok()) {
    std::fprintf(stderr, "CudaCommConformance: a collective is enqueued after a failure\n");
    std::_Exit(9);
  }
  return exchanges.front()->bootstrap.failure().status();
}

/// A hundred collectives on each of two channels at once, of which the last rank does not see the end.
Status stray(Bootstrap &bootstrap, StreamDevice &device, StreamChannels &channels, std::byte *memory, const std::string &mode) {
  const bool last = bootstrap.rank() == bootstrap.size() - 1;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int i = 0; i < 2; ++i) {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<StreamChannel> channel, channels.create());
    exchanges.push_back(std::make_unique<Exchange>(bootstrap, device, std::move(channel), memory + i * (uint64_t(1) << 20)));
    ZERO_RETURN_IF_ERROR(exchanges.back()->prepare());
  }
  const uint32_t place = bootstrap.view().addPlace("micro_first");
  bootstrap.view().moveTo(7, place);
  for (const auto &exchange : exchanges)
    exchange->observer.place = place;
  const bool captures = !exchanges.front()->channel->blocks();
  for (int i = 0; i < 100; ++i) {
    for (const auto &exchange : exchanges)
      if (Status enqueued = exchange->enqueue(captures && i >= 10); !enqueued.ok())
        bootstrap.failure().raise(enqueued.annotate(kOrigin)); // as queues do: the first failure counts
    for (const auto &exchange : exchanges)
      if (!device.synchronize(exchange->queue->stream(), bootstrap.failure()))
        return captures && mode != "hang" ? afterFailure(exchanges) : bootstrap.failure().status();
    if (!last || i != 50)
      continue;
    if (mode == "stop" || mode == "kill")
      ::raise(mode == "stop" ? SIGSTOP : SIGKILL);
    if (mode == "exit")
      ::_exit(0);
    if (mode == "stick")
      while (!bootstrap.failure().raised())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (mode == "return")
      return Status::programFailed("went away");
    if (mode == "throw")
      throw std::bad_alloc();
  }
  exchanges.clear();
  if (last && mode == "late") // it does not come to the end of the channels
    while (!bootstrap.failure().raised())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return channels.close();
}

Status runRank(Bootstrap &bootstrap, const std::string &kind, const std::string &mode) {
  const bool staged = kind == "staged";
  ZERO_ASSIGN_OR_RETURN(unsigned index, chooseDevice(bootstrap, findCudaDevices(), /*shared=*/staged || kind == "nccl-shared"));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<StreamDevice> device, createCudaDevice(kind == "nccl-shared" ? 0 : index, {/*mappedByPeers=*/!staged}));
  ZERO_RETURN_IF_ERROR(device->bindThread());
  const uint64_t bytes = 2 * test::StreamConformance::bytesFor(kSizes[std::size(kSizes) - 1], std::min(bootstrap.size(), kSlowRanks));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, device->allocate("device", bytes));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<DeviceModule> kernels, compileKernels(*device, kind == "deterministic" || mode.starts_with("conform")));
  StreamChannelOptions options;
  options.deterministic = kind == "deterministic" || kind == "no-kernels";
  options.memory = {{arena->data(), arena->size()}};
  std::unique_ptr<StreamChannels> channels;
  if (staged)
    channels = createStagedChannels(bootstrap, *device);
  else {
    ZERO_ASSIGN_OR_RETURN(channels, createNcclChannels(bootstrap, *device, *kernels, options));
  }
  std::unique_ptr<StreamChannel> first;
  if (mode == "half") {
    ZERO_ASSIGN_OR_RETURN(first, channels->create());
  }
  if ((mode == "absent" || mode == "half") && bootstrap.rank() == bootstrap.size() - 1) { // what comes before NCCL's own exchange, and no more
    char id[128];
    ZERO_RETURN_IF_ERROR(bootstrap.agree({}));
    ZERO_RETURN_IF_ERROR(bootstrap.broadcast(id, sizeof id, 0));
    while (!bootstrap.failure().raised())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return {};
  }
  if (mode == "half")
    return channels->create().status();
  if (mode.starts_with("conform"))
    return conform(bootstrap, *device, *channels, arena->data(), arena->size(), kind == "nccl" ? test::Sums::Near : test::Sums::SameBits, mode == "conform");
  return stray(bootstrap, *device, *channels, arena->data(), mode);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: CudaCommConformance CHANNELS MODE [RANKS]\n");
    return 2;
  }
  const std::string kind = argv[1], mode = argv[2];
  JobOptions options;
  // Ranks that go astray are missed after it; the slowest machine starts all ranks within it.
  options.timeoutSeconds = mode.starts_with("conform") || mode == "run" ? 120 : 5;
  options.record = [](const JobView &, const std::vector<unsigned> &ranks) { return "; kept " + std::to_string(ranks.size()) + " ranks"; };
  options.report = [](const Status &status) { std::fprintf(stderr, "CudaCommConformance: %s\n", status.message().c_str()); };
  auto body = [&](Bootstrap &bootstrap) { return runRank(bootstrap, kind, mode); };
  return argc > 3 ? runLoopback(static_cast<unsigned>(std::atoi(argv[3])), options, body) : runMpi(options, body);
}
