//===- Loopback.cpp - N ranks as threads of one process -------------------===//
//
// Peers' buffers are read in place, between two barriers: nobody reads before all have arrived, nobody goes on (and writes
// its buffers) before all have read.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/HAL/Comm/OrderedSum.h"
#include "lib/Runtime/HAL/Comm/Timeout.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>

namespace zero {
namespace {

/// What a rank reports that stops because of another: never the cause of a failed job.
constexpr const char *kFollowed = "another rank failed";

/// Where the ranks of one channel meet: each shows its buffers, enters, reads those of its peers, leaves.
class MeetingPoint {
public:
  MeetingPoint(unsigned ranks, double timeoutSeconds)
      : sources(ranks), sizes(ranks), arrived(ranks), timeoutSeconds(timeoutSeconds) {}

  /// Returns when every rank has called it; then the peers' buffers may be read until `leave`.
  Status enter(unsigned rank, const Failure &failure) {
    std::unique_lock lock(mutex);
    return meet(lock, rank, failure, /*entering=*/true);
  }

  /// This rank reads no more; returns when none does.
  Status leave(unsigned rank, const Failure &failure) {
    std::unique_lock lock(mutex);
    if (--inside == 0)
      changed.notify_all();
    return meet(lock, rank, failure, /*entering=*/false);
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
  Status meet(std::unique_lock<std::mutex> &lock, unsigned rank, const Failure &failure, bool entering) {
    if (closed)
      return Status::communication(kFollowed);
    arrived[rank] = true;
    if (++count == arrived.size()) {
      count = 0;
      std::fill(arrived.begin(), arrived.end(), false);
      inside = entering ? static_cast<unsigned>(arrived.size()) : 0;
      ++round;
      changed.notify_all();
      return {};
    }
    using Clock = std::chrono::steady_clock;
    auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeoutSeconds));
    auto deadline = Clock::now() + limit;
    for (uint64_t mine = round; round == mine;) {
      if (closed || failure.raised()) {
        arrived[rank] = false;
        --count;
        return Status::communication(kFollowed);
      }
      if (Clock::now() >= deadline) {
        closed = true; // the others give up without naming this rank
        changed.notify_all();
        return Status::communication(timeoutMessage(timeoutSeconds) + missingRanks());
      }
      // `close` and arrivals wake; a failure of this rank is noticed within the interval.
      changed.wait_until(lock, std::min(deadline, Clock::now() + std::chrono::milliseconds(50)));
    }
    return {};
  }

  std::string missingRanks() const {
    std::string names;
    for (size_t rank = 0; rank < arrived.size(); ++rank)
      if (!arrived[rank])
        names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return names;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> arrived;
  unsigned count = 0;   ///< ranks that have arrived in this round
  unsigned inside = 0;  ///< ranks that may be reading their peers' buffers
  uint64_t round = 0;
  bool closed = false;
  double timeoutSeconds;
};

/// What the ranks of one process share.
class LoopbackGroup {
public:
  LoopbackGroup(unsigned ranks, double timeoutSeconds)
      : ranks(ranks), timeoutSeconds(timeoutSeconds), control(ranks, timeoutSeconds), failures(ranks) {}

  MeetingPoint &channel(size_t index) {
    std::lock_guard lock(mutex);
    while (channels.size() <= index)
      channels.emplace_back(ranks, timeoutSeconds);
    return channels[index];
  }

  /// Keeps the first error, which is the cause of what others report after it.
  void abort(unsigned rank, const Status &error) {
    {
      std::lock_guard lock(mutex);
      if (cause.ok() && !error.message().ends_with(kFollowed))
        cause = ranks > 1 ? error.annotate("rank " + std::to_string(rank)) : error;
    }
    for (Failure &failure : failures)
      failure.raise(Status::communication(kFollowed));
    control.close();
    std::lock_guard lock(mutex);
    for (MeetingPoint &point : channels)
      point.close();
  }

  const unsigned ranks;
  const double timeoutSeconds;
  MeetingPoint control;
  std::deque<Failure> failures;
  Status cause;

private:
  std::mutex mutex;
  std::deque<MeetingPoint> channels;
};

class LoopbackChannel final : public Channel {
public:
  LoopbackChannel(MeetingPoint &point, unsigned rank, unsigned ranks, const Failure &failure)
      : point(point), rank(rank), ranks(ranks), failure(failure) {}

  Status allGather(const void *source, void *target, uint64_t bytes) override {
    ZERO_RETURN_IF_ERROR(show(source));
    for (unsigned peer = 0; peer < ranks; ++peer) {
      void *part = static_cast<char *>(target) + peer * bytes;
      if (const void *from = peer == rank ? source : point.sources[peer]; from != part)
        std::memcpy(part, from, bytes);
    }
    sent += (ranks - 1) * bytes;
    return point.leave(rank, failure);
  }

  Status reduceScatter(const float *source, float *target, uint64_t elements, void *) override {
    ZERO_RETURN_IF_ERROR(show(source));
    sumInRankOrder(point.sources.data(), rank * elements, ranks, target, elements);
    sent += (ranks - 1) * elements * sizeof(float);
    return point.leave(rank, failure);
  }

  Status sum(const float *source, float *target, uint64_t elements, void *staging) override {
    return sumAll(source, target, elements, staging);
  }
  Status sum(const int64_t *source, int64_t *target, uint64_t elements, void *staging) override {
    return sumAll(source, target, elements, staging);
  }

  uint64_t bytesSent() const override { return sent; }

private:
  Status show(const void *source) {
    point.sources[rank] = source;
    return point.enter(rank, failure);
  }
  /// In place, so the sum waits in the staging until all have read the sources.
  template <typename T> Status sumAll(const T *source, T *target, uint64_t elements, void *staging) {
    ZERO_RETURN_IF_ERROR(show(source));
    T *result = ranks > 1 ? static_cast<T *>(staging) : target;
    sumInRankOrder(point.sources.data(), 0, ranks, result, elements);
    sent += (ranks - 1) * elements * sizeof(T);
    ZERO_RETURN_IF_ERROR(point.leave(rank, failure));
    if (result != target)
      std::memcpy(target, result, elements * sizeof(T));
    return {};
  }

  MeetingPoint &point;
  unsigned rank, ranks;
  const Failure &failure;
  uint64_t sent = 0;
};

class LoopbackBootstrap final : public Bootstrap {
public:
  LoopbackBootstrap(LoopbackGroup &group, unsigned rank) : group(group), own(rank) {}
  unsigned rank() const override { return own; }
  unsigned size() const override { return group.ranks; }
  Failure &failure() override { return group.failures[own]; }

  Status broadcast(void *data, uint64_t size, unsigned root) override {
    ZERO_RETURN_IF_ERROR(show(data, size));
    if (own != root)
      std::memcpy(data, group.control.sources[root], size);
    return group.control.leave(own, failure());
  }

  Expected<std::vector<std::string>> allGather(const std::string &mine) override {
    ZERO_RETURN_IF_ERROR(show(mine.data(), mine.size()));
    std::vector<std::string> all;
    for (unsigned peer = 0; peer < group.ranks; ++peer)
      all.emplace_back(static_cast<const char *>(group.control.sources[peer]), group.control.sizes[peer]);
    ZERO_RETURN_IF_ERROR(group.control.leave(own, failure()));
    return all;
  }

  Expected<std::unique_ptr<Channel>> createChannel() override {
    return std::unique_ptr<Channel>(std::make_unique<LoopbackChannel>(group.channel(created++), own, group.ranks, failure()));
  }

  void abort(const Status &error) override { group.abort(own, error); }

private:
  Status show(const void *data, uint64_t size) {
    group.control.sources[own] = data;
    group.control.sizes[own] = size;
    return group.control.enter(own, failure());
  }

  LoopbackGroup &group;
  unsigned own;
  size_t created = 0;
};

} // namespace

int runLoopback(unsigned ranks, const JobOptions &options, const std::function<Status(Bootstrap &)> &body) {
  LoopbackGroup group(ranks, options.timeoutSeconds);
  std::vector<Status> agreed(ranks);
  auto runRank = [&](unsigned rank) {
    LoopbackBootstrap bootstrap(group, rank);
    Status status = body(bootstrap);
    if (status.ok())
      return;
    if (bootstrap.agreedOnError())
      agreed[rank] = status;
    else
      group.abort(rank, status);
  };
  std::vector<std::thread> threads;
  for (unsigned rank = 1; rank < ranks; ++rank)
    threads.emplace_back(runRank, rank);
  runRank(0);
  for (std::thread &thread : threads)
    thread.join();
  const Status &status = group.cause.ok() ? agreed[0] : group.cause;
  if (!status.ok() && options.report)
    options.report(status);
  return status.exitCode();
}

} // namespace zero
