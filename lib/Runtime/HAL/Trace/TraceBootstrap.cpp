//===- TraceBootstrap.cpp - One rank without its peers --------------------===//
#include "zero/Runtime/HAL/Bootstrap.h"

namespace zero {
namespace {

class TraceChannel final : public Channel {
public:
  Status allGather(const void *, void *, uint64_t) override { return refuse(); }
  Status reduceScatter(const void *, FloatType, void *, FloatType, uint64_t, void *) override { return refuse(); }
  Status sum(const float *, float *, uint64_t, void *) override { return refuse(); }
  Status sum(const int64_t *, int64_t *, uint64_t, void *) override { return refuse(); }
  uint64_t bytesSent() const override { return 0; }

private:
  static Status refuse() { return Status::communication("a traced program has no peers to exchange with"); }
};

class TraceBootstrap final : public Bootstrap {
public:
  TraceBootstrap(unsigned rank, unsigned size) : own(rank), ranks(size), jobView(rank, states()) {}
  unsigned rank() const override { return own; }
  unsigned size() const override { return ranks; }
  Failure &failure() override { return first; }
  JobView &view() override { return jobView; }
  double timeoutSeconds() const override { return JobOptions().timeoutSeconds; } // nothing waits
  Status broadcast(void *, uint64_t, unsigned) override { return {}; }
  /// As if all ranks said the same.
  Expected<std::vector<std::string>> allGather(const std::string &mine) override { return std::vector<std::string>(ranks, mine); }
  Expected<std::unique_ptr<Channel>> createChannel() override { return std::unique_ptr<Channel>(std::make_unique<TraceChannel>()); }
  void abort(const Status &error) override { first.raise(error); }

private:
  std::vector<RankState *> states() {
    std::vector<RankState *> all(ranks);
    all[own] = &state;
    return all;
  }

  unsigned own, ranks;
  Failure first;
  RankState state;
  JobView jobView;
};

} // namespace

std::unique_ptr<Bootstrap> createTraceBootstrap(unsigned rank, unsigned size) { return std::make_unique<TraceBootstrap>(rank, size); }

} // namespace zero
