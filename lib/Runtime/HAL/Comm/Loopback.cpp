//===- Loopback.cpp - N ranks as threads of one process -------------------===//
//
// Peers' buffers are read in place, between two barriers: nobody reads before all have arrived, nobody goes on (and writes
// its buffers) before all have read.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/HAL/Comm/LinkRate.h"
#include "lib/Runtime/HAL/Comm/OrderedSum.h"
#include "lib/Runtime/HAL/Comm/RunBody.h"
#include "lib/Runtime/HAL/Comm/SparseMessage.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>
#include <thread>

namespace zero {
namespace {

/// What a rank reports that stops because of another: never the cause of a failed job.
constexpr const char *kFollowed = "another rank failed";

/// Where the ranks of one channel meet: each shows its buffers, enters, reads those of its peers, leaves.
class MeetingPoint {
public:
  MeetingPoint(unsigned channel, unsigned ranks, double timeoutSeconds)
      : sources(ranks), sizes(ranks), channel(channel), ranks(ranks), timeoutSeconds(timeoutSeconds) {}

  /// Returns when every rank has called it; then the peers' buffers may be read until `leave`.
  Status enter(const JobView &view, const Failure &failure) {
    std::unique_lock lock(mutex);
    return meet(lock, view, failure, /*entering=*/true);
  }

  /// This rank reads no more; returns when none does.
  Status leave(const JobView &view, const Failure &failure) {
    std::unique_lock lock(mutex);
    if (--inside == 0)
      changed.notify_all();
    return meet(lock, view, failure, /*entering=*/false);
  }

  /// Lets nobody enter any more; returns when nobody reads.
  void close() {
    std::unique_lock lock(mutex);
    closed = true;
    changed.notify_all();
    changed.wait(lock, [this] { return inside == 0; });
  }

  /// What each rank shows its peers; written before a `meet`, read after it.
  std::vector<const void *> sources;
  std::vector<uint64_t> sizes;

private:
  Status meet(std::unique_lock<std::mutex> &lock, const JobView &view, const Failure &failure, bool entering) {
    if (closed)
      return Status::communication(kFollowed);
    if (++count == ranks) {
      count = 0;
      inside = entering ? ranks : 0;
      ++round;
      changed.notify_all();
      return {};
    }
    using Clock = std::chrono::steady_clock;
    auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeoutSeconds));
    auto deadline = Clock::now() + limit;
    for (uint64_t mine = round; round == mine;) {
      if (closed || failure.raised()) {
        --count;
        return Status::communication(kFollowed);
      }
      Status problem = Clock::now() >= deadline ? view.timedOut(timeoutSeconds, channel) : view.endedRank(channel);
      if (!problem.ok()) {
        closed = true; // the others give up without naming this rank
        changed.notify_all();
        return problem;
      }
      // `close` and arrivals wake; a failure of this rank is noticed within the interval.
      changed.wait_until(lock, std::min(deadline, Clock::now() + std::chrono::milliseconds(50)));
    }
    return {};
  }

  std::mutex mutex;
  std::condition_variable changed;
  unsigned count = 0;   ///< ranks that have arrived in this round
  unsigned inside = 0;  ///< ranks that may be reading their peers' buffers
  uint64_t round = 0;
  bool closed = false;
  const unsigned channel, ranks;
  double timeoutSeconds;
};

/// What the ranks of one process share.
class LoopbackGroup {
public:
  LoopbackGroup(unsigned ranks, double timeoutSeconds, uint64_t linkBytesPerSecond)
      : ranks(ranks), timeoutSeconds(timeoutSeconds), control(0, ranks, timeoutSeconds), failures(ranks), states(ranks) {
    for (unsigned rank = 0; linkBytesPerSecond && rank < ranks; ++rank) {
      outward.emplace_back(linkBytesPerSecond);
      inward.emplace_back(linkBytesPerSecond);
    }
  }

  std::vector<RankState *> allStates() {
    std::vector<RankState *> all;
    for (RankState &state : states)
      all.push_back(&state);
    return all;
  }

  /// Number `index` from 1.
  MeetingPoint &channel(unsigned index) {
    std::lock_guard lock(mutex);
    while (channels.size() < index)
      channels.emplace_back(static_cast<unsigned>(channels.size()) + 1, ranks, timeoutSeconds);
    return channels[index - 1];
  }

  /// Keeps the first error, which is the cause of what others report after it.
  void abort(unsigned rank, const Status &error) {
    {
      std::lock_guard lock(mutex);
      if (cause.ok() && !error.message().ends_with(kFollowed))
        cause = ranks > 1 ? error.annotate("rank " + std::to_string(rank)) : error;
      changed.notify_all();
    }
    for (Failure &failure : failures)
      failure.raise(Status::communication(kFollowed));
    control.close();
    std::lock_guard lock(mutex);
    for (MeetingPoint &point : channels)
      point.close();
  }

  Status causeSoFar() {
    std::lock_guard lock(mutex);
    return cause;
  }

  /// A rank is through, with or without success.
  void finish() {
    std::lock_guard lock(mutex);
    ++finished;
    changed.notify_all();
  }

  /// Waits until all ranks are through (true), or until one failed and others are still not through after that time (false):
  /// they are stuck where no failure is looked for.
  bool waitForAll(double afterFailureSeconds) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished == ranks || !cause.ok(); });
    return changed.wait_for(lock, std::chrono::duration<double>(std::clamp(afterFailureSeconds, 2.0, kGraceSeconds)),
                            [&] { return finished == ranks; });
  }

  const unsigned ranks;
  const double timeoutSeconds;
  MeetingPoint control;
  std::deque<Failure> failures;
  std::deque<RankState> states;
  /// The links of the ranks, which their channels share; none where memory is read as fast as it can be.
  std::deque<LinkRate> outward, inward;

private:
  /// What a rank that is told of a failure may take to end what it is doing.
  static constexpr double kGraceSeconds = 10;
  std::mutex mutex;
  std::condition_variable changed;
  Status cause;
  unsigned finished = 0;
  std::deque<MeetingPoint> channels;
};

class LoopbackChannel final : public Channel {
public:
  LoopbackChannel(LoopbackGroup &group, unsigned index, JobView &view, const Failure &failure)
      : group(group), point(group.channel(index)), index(index), rank(view.rank()), ranks(view.size()), view(view), failure(failure) {}

  Status allGather(const void *source, void *target, uint64_t bytes) override {
    FlightRecord &record = view.enter(index, announced, bytes);
    ZERO_RETURN_IF_ERROR(show(source, bytes, /*isParted=*/false));
    for (unsigned peer = 0; peer < ranks; ++peer) {
      void *part = static_cast<char *>(target) + peer * bytes;
      if (const void *from = peer == rank ? source : point.sources[peer]; from != part)
        std::memcpy(part, from, bytes);
    }
    sent += (ranks - 1) * bytes;
    return leave(record);
  }

  Status reduceScatter(const void *source, FloatType element, void *target, FloatType targetElement, uint64_t elements,
                       void *) override {
    FlightRecord &record = view.enter(index, announced, elements * sizeOf(element));
    ZERO_RETURN_IF_ERROR(show(source, elements * sizeOf(element), /*isParted=*/true));
    sumInRankOrder(point.sources.data(), rank * elements, ranks, element, target, targetElement, elements);
    sent += (ranks - 1) * elements * sizeOf(element);
    return leave(record);
  }

  Status sum(const float *source, float *target, uint64_t elements, void *staging) override {
    return sumAll(source, target, elements, staging);
  }
  Status sum(const int64_t *source, int64_t *target, uint64_t elements, void *staging) override {
    return sumAll(source, target, elements, staging);
  }

  uint64_t bytesSent() const override { return sent; }

private:
  /// The peers' sources may be read afterwards: `bytes` of each have come, its part for this rank or all that it has.
  Status show(const void *source, uint64_t bytes, bool isParted) {
    point.sources[rank] = source;
    ZERO_RETURN_IF_ERROR(point.enter(view, failure));
    Status travelled = travel(bytes, isParted);
    if (!travelled.ok())
      (void)point.leave(view, failure); // nobody waits for this rank to read
    return travelled;
  }
  /// Waits as long as the links would take to carry `bytes` from each peer to this rank, in messages as between machines.
  Status travel(uint64_t bytes, bool isParted) {
    using Clock = LinkRate::Clock;
    auto lengthOf = [&](unsigned from, unsigned to, uint64_t offset, uint64_t size) {
      return message.lengthOf(static_cast<const std::byte *>(point.sources[from]) + (isParted ? to * bytes : 0) + offset, size);
    };
    for (uint64_t offset = 0; offset < bytes && !group.inward.empty(); offset += kCollectiveChunkBytes)
      for (unsigned i = 1; i < ranks; ++i) {
        unsigned peer = (rank + i) % ranks;
        uint64_t size = std::min(kCollectiveChunkBytes, bytes - offset);
        omitted.fetch_add(size - lengthOf(rank, peer, offset, size), std::memory_order_relaxed);
        uint64_t length = lengthOf(peer, rank, offset, size);
        Clock::time_point through = std::max(group.outward[peer].take(length), group.inward[rank].take(length));
        while (Clock::now() < through) {
          if (failure.raised())
            return Status::communication(kFollowed);
          std::this_thread::sleep_until(std::min(through, Clock::now() + std::chrono::milliseconds(50)));
        }
      }
    return {};
  }
  Status leave(FlightRecord &record) {
    ZERO_RETURN_IF_ERROR(point.leave(view, failure));
    view.leave(index, record);
    return {};
  }
  /// In place, so the sum waits in the staging until all have read the sources.
  template <typename T> Status sumAll(const T *source, T *target, uint64_t elements, void *staging) {
    FlightRecord &record = view.enter(index, announced, elements * sizeof(T));
    ZERO_RETURN_IF_ERROR(show(source, elements * sizeof(T), /*isParted=*/false));
    T *result = ranks > 1 ? static_cast<T *>(staging) : target;
    if constexpr (std::is_same_v<T, float>)
      sumInRankOrder(point.sources.data(), 0, ranks, FloatType::F32, result, FloatType::F32, elements);
    else
      sumInRankOrder(point.sources.data(), ranks, result, elements);
    sent += (ranks - 1) * elements * sizeof(T);
    ZERO_RETURN_IF_ERROR(leave(record));
    if (result != target)
      std::memcpy(target, result, elements * sizeof(T));
    return {};
  }

  LoopbackGroup &group;
  MeetingPoint &point;
  const unsigned index, rank, ranks;
  JobView &view;
  const Failure &failure;
  uint64_t sent = 0;
  SparseMessage message;
};

class LoopbackBootstrap final : public Bootstrap {
public:
  LoopbackBootstrap(LoopbackGroup &group, unsigned rank) : group(group), own(rank), jobView(rank, group.allStates()) {}
  unsigned rank() const override { return own; }
  unsigned size() const override { return group.ranks; }
  Failure &failure() override { return group.failures[own]; }
  JobView &view() override { return jobView; }
  double timeoutSeconds() const override { return group.timeoutSeconds; }

  Status broadcast(void *data, uint64_t size, unsigned root) override {
    FlightRecord &record = jobView.enter(0, broadcastName, size);
    ZERO_RETURN_IF_ERROR(show(data, size));
    if (own != root)
      std::memcpy(data, group.control.sources[root], size);
    return leave(record);
  }

  Expected<std::vector<std::string>> allGather(const std::string &mine) override {
    FlightRecord &record = jobView.enter(0, gatherName, mine.size());
    ZERO_RETURN_IF_ERROR(show(mine.data(), mine.size()));
    std::vector<std::string> all;
    for (unsigned peer = 0; peer < group.ranks; ++peer)
      all.emplace_back(static_cast<const char *>(group.control.sources[peer]), group.control.sizes[peer]);
    ZERO_RETURN_IF_ERROR(leave(record));
    return all;
  }

  Expected<std::unique_ptr<Channel>> createChannel() override {
    unsigned index = ++created;
    return std::unique_ptr<Channel>(std::make_unique<LoopbackChannel>(group, index, jobView, failure()));
  }

  void abort(const Status &error) override { group.abort(own, error); }

private:
  Status show(const void *data, uint64_t size) {
    group.control.sources[own] = data;
    group.control.sizes[own] = size;
    return group.control.enter(jobView, failure());
  }
  Status leave(FlightRecord &record) {
    ZERO_RETURN_IF_ERROR(group.control.leave(jobView, failure()));
    jobView.leave(0, record);
    return {};
  }

  LoopbackGroup &group;
  unsigned own;
  JobView jobView;
  const uint32_t broadcastName = addExchange(jobView, "broadcast"), gatherName = addExchange(jobView, "all_gather");
  unsigned created = 0;
};

} // namespace

int runLoopback(unsigned ranks, const JobOptions &options, const std::function<Status(Bootstrap &)> &body) {
  LoopbackGroup group(ranks, options.timeoutSeconds, options.linkBytesPerSecond);
  std::vector<std::unique_ptr<LoopbackBootstrap>> bootstraps;
  for (unsigned rank = 0; rank < ranks; ++rank)
    bootstraps.push_back(std::make_unique<LoopbackBootstrap>(group, rank));
  std::vector<Status> agreed(ranks);
  auto runRank = [&](unsigned rank) {
    LoopbackBootstrap &bootstrap = *bootstraps[rank];
    Status status = runBody(body, bootstrap);
    if (status.ok())
      bootstrap.view().moveTo(JobView::kFinished);
    else if (bootstrap.agreedOnError())
      agreed[rank] = status;
    else
      group.abort(rank, status);
    group.finish();
  };
  auto report = [&]() -> int {
    Status cause = group.causeSoFar(), status = cause.ok() ? agreed[0] : cause;
    if (status.ok())
      return 0;
    if (options.record && status.code() == ErrorCode::Communication) {
      std::vector<unsigned> all(ranks);
      std::iota(all.begin(), all.end(), 0u);
      status = {status.code(), status.message() + options.record(bootstraps[0]->view(), all)};
    }
    if (options.report)
      options.report(status);
    return status.exitCode();
  };
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; ++rank)
    threads.emplace_back(runRank, rank);
  // A thread that is stuck cannot be ended alone.
  if (!group.waitForAll(options.timeoutSeconds)) {
    int exitCode = report();
    std::fflush(stdout);
    std::_Exit(exitCode);
  }
  for (std::thread &thread : threads)
    thread.join();
  return report();
}

} // namespace zero
