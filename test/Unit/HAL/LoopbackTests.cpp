//===- LoopbackTests.cpp - The loopback channel ---------------------------===//
#include "test/Unit/HAL/ChannelConformance.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <thread>

namespace zero {
namespace {

struct Outcome {
  int exitCode;
  std::vector<std::string> reports;
};

Outcome run(unsigned ranks, double timeout, const std::function<Status(Bootstrap &)> &body) {
  Outcome outcome;
  JobOptions options;
  options.timeoutSeconds = timeout;
  options.report = [&](const Status &status) { outcome.reports.push_back(status.message()); };
  outcome.exitCode = runLoopback(ranks, options, body);
  return outcome;
}

class Loopback : public testing::TestWithParam<unsigned> {};

TEST_P(Loopback, Conforms) {
  Outcome outcome = run(GetParam(), 60, test::checkJob);
  EXPECT_EQ(outcome.exitCode, 0) << (outcome.reports.empty() ? "" : outcome.reports[0]);
  EXPECT_TRUE(outcome.reports.empty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, Loopback, testing::Values(1, 2, 3, 4));

TEST(LoopbackFailure, ATimeOutNamesTheRanksThatDidNotCome) {
  Outcome outcome = run(4, 0.2, [](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    if (bootstrap.rank() == 1 || bootstrap.rank() == 3) {
      while (!bootstrap.failure().raised())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return {};
    }
    float value = 0, all[4];
    return channel->allGather(&value, all, sizeof value);
  });
  EXPECT_EQ(outcome.exitCode, 4);
  ASSERT_EQ(outcome.reports.size(), 1u);
  EXPECT_NE(outcome.reports[0].find("timed out after 0.2 s, still waiting for rank 1 (starting), rank 3 (starting); ranks 0, 2 arrived"),
            std::string::npos)
      << outcome.reports[0];
}

TEST(LoopbackFailure, ATimeOutSaysWhereTheMissingRanksAre) {
  Outcome outcome = run(3, 0.3, [](Bootstrap &bootstrap) -> Status {
    JobView &view = bootstrap.view();
    uint32_t name = view.addName({"reduce_scatter", "b1", "h.0.q", "reduce_scatter b1 (h.0.q ...)"});
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> first, bootstrap.createChannel());
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> second, bootstrap.createChannel());
    view.moveTo(4, bootstrap.rank() == 1 ? uint32_t{JobView::kReadingData} : view.addPlace("update"));
    while (bootstrap.rank() == 1 && !bootstrap.failure().raised())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    float value[3] = {}, sum = 0;
    second->announce(name);
    return bootstrap.rank() == 2 ? second->reduceScatter(value, &sum, 1, nullptr) : first->allGather(&sum, value, 4);
  });
  EXPECT_EQ(outcome.exitCode, 4);
  ASSERT_EQ(outcome.reports.size(), 1u);
  bool zeroSpoke = outcome.reports[0].find("still waiting for rank 1 (in step 4, reading data), rank 2 (in step 4, update, reduce_scatter b1 "
                                           "(h.0.q ...)); rank 0 arrived") != std::string::npos;
  bool twoSpoke = outcome.reports[0].find("still waiting for rank 0 (in step 4, update), rank 1 (in step 4, reading data); rank 2 "
                                          "arrived") != std::string::npos;
  EXPECT_TRUE(zeroSpoke || twoSpoke) << outcome.reports[0];
}

TEST(LoopbackFailure, ARankThatEndsEarlyIsNoticedAtOnce) {
  auto start = std::chrono::steady_clock::now();
  Outcome outcome = run(2, 60, [](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    if (bootstrap.rank() == 1)
      bootstrap.view().moveTo(JobView::kFinished);
    while (bootstrap.rank() == 1 && !bootstrap.failure().raised())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    float value = 0, all[2];
    return channel->allGather(&value, all, sizeof value);
  });
  EXPECT_EQ(outcome.exitCode, 4);
  EXPECT_EQ(outcome.reports, std::vector<std::string>{"rank 0: waited in vain for rank 1 (finished); rank 0 arrived"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(LoopbackFailure, ARankThatIsStuckAtTheEndIsMissed) {
  Outcome outcome = run(2, 0.3, [](Bootstrap &bootstrap) -> Status {
    while (bootstrap.rank() == 1 && !bootstrap.failure().raised())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return {};
  });
  EXPECT_EQ(outcome.exitCode, 4);
  ASSERT_EQ(outcome.reports.size(), 1u);
  EXPECT_NE(outcome.reports[0].find("still waiting for rank 1 (starting); rank 0 arrived"), std::string::npos) << outcome.reports[0];
}

TEST(LoopbackFailure, AnExceptionIsAnErrorOfItsRank) {
  Outcome outcome = run(3, 60, [](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    if (bootstrap.rank() == 2)
      throw std::bad_alloc();
    float value = 0, all[3];
    return channel->allGather(&value, all, sizeof value);
  });
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_EQ(outcome.reports, std::vector<std::string>{"rank 2: out of host memory, starting"});
}

TEST(LoopbackFailureDeathTest, AThreadThatIsStuckDoesNotKeepTheProcess) {
  JobOptions options;
  options.timeoutSeconds = 0.2;
  options.report = [](const Status &status) { std::fprintf(stderr, "%s\n", status.message().c_str()); };
  auto stick = [](Bootstrap &bootstrap) -> Status {
    while (bootstrap.rank() == 1)
      std::this_thread::sleep_for(std::chrono::seconds(1));
    return bootstrap.agree({});
  };
  EXPECT_EXIT(runLoopback(2, options, stick), testing::ExitedWithCode(4), "rank 0: timed out after 0.2 s, still waiting for rank 1");
}

/// Seconds that two ranks take to exchange `bytes` in each of `channels` at once over links of `rate`.
double secondsOfExchange(uint64_t rate, uint64_t bytes, unsigned channels) {
  JobOptions options;
  options.linkBytesPerSecond = rate;
  auto start = std::chrono::steady_clock::now();
  int exitCode = runLoopback(2, options, [&](Bootstrap &bootstrap) -> Status {
    std::vector<std::unique_ptr<Channel>> all(channels);
    std::vector<Status> done(channels);
    std::vector<std::thread> threads;
    for (std::unique_ptr<Channel> &channel : all) {
      ZERO_ASSIGN_OR_RETURN(channel, bootstrap.createChannel());
    }
    for (unsigned i = 0; i < channels; ++i)
      threads.emplace_back([&, i] {
        std::vector<char> source(bytes, static_cast<char>(1 + bootstrap.rank())), target(2 * bytes);
        done[i] = all[i]->allGather(source.data(), target.data(), bytes);
        EXPECT_TRUE(target.front() == 1 && target.back() == 2);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const Status &status : done)
      ZERO_RETURN_IF_ERROR(status);
    return {};
  });
  EXPECT_EQ(exitCode, 0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(LoopbackLinks, CarryTheirRateInEachDirection) {
  constexpr uint64_t kMiB = 1 << 20;
  // Beyond the burst of a quarter of a MiB; were both directions one link, an exchange would take twice as long.
  double one = secondsOfExchange(4 * kMiB, 4 * kMiB, 1), two = secondsOfExchange(4 * kMiB, 4 * kMiB, 2), fast = secondsOfExchange(64 * kMiB, 4 * kMiB, 1);
  EXPECT_GE(one, 0.99 * 3.75 / 4);
  EXPECT_LT(one, 0.99 * 7.75 / 4);
  EXPECT_GE(two, 0.99 * 7.75 / 4); // channels share the link
  EXPECT_LT(fast, one / 2);
}

TEST(LoopbackLinks, GiveUpWithTheirRank) {
  JobOptions options;
  options.linkBytesPerSecond = 1; // it would take weeks
  auto start = std::chrono::steady_clock::now();
  int exitCode = runLoopback(3, options, [](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> first, bootstrap.createChannel());
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> second, bootstrap.createChannel());
    std::vector<float> source(3000000), target(1000000);
    Status status;
    std::thread thread([&] { status = first->reduceScatter(source.data(), target.data(), 1000000, nullptr); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (bootstrap.rank() == 1)
      bootstrap.abort(Status::badInput("index 7 is outside [0, 5)"));
    thread.join();
    return status;
  });
  EXPECT_EQ(exitCode, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(FlightRecords, HoldTheLastCollectivesInOrder) {
  Outcome outcome = run(2, 60, [](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    uint32_t name = bootstrap.view().addName({"all_gather", "b0", "w", "all_gather b0 (w)"});
    bootstrap.view().moveTo(3, JobView::kReadingData);
    for (int i = 0; i < 100; ++i) {
      float value = 0, all[2];
      channel->announce(name);
      ZERO_RETURN_IF_ERROR(channel->allGather(&value, all, sizeof value));
    }
    const RankState &state = bootstrap.view().own();
    EXPECT_EQ(state.collectives, 100u);
    std::vector<uint64_t> numbers;
    for (const FlightRecord &record : state.records) {
      numbers.push_back(record.number);
      EXPECT_EQ(record.sequence, record.number);
      EXPECT_EQ(record.channel, 1u);
      EXPECT_EQ(record.name, name);
      EXPECT_EQ(record.bytes, 4u);
      EXPECT_EQ(record.step, 3u);
      EXPECT_LE(record.begin, record.end);
    }
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(numbers.front(), 100 - kFlightRecords + 1);
    EXPECT_EQ(numbers.back(), 100u);
    return {};
  });
  EXPECT_EQ(outcome.exitCode, 0);
}

/// A device is told of a step before the host has seen the last one: a collective is where its stream is, not where the host is.
TEST(FlightRecords, SayWhereACollectiveIsAndNotWhereTheHostIs) {
  Outcome outcome = run(1, 60, [](Bootstrap &bootstrap) -> Status {
    JobView &view = bootstrap.view();
    const uint32_t section = view.addPlace("update"), name = view.addName({"all_gather", "b0", "w", "all_gather b0 (w)"});
    view.moveTo(8, JobView::kReadingData);
    FlightRecord &record = view.enter(1, {name, JobPlace{7, section}}, 4, /*time=*/1000);
    EXPECT_EQ(record.step, 7u);
    EXPECT_EQ(record.place, section);
    EXPECT_EQ(record.begin, 1000);
    EXPECT_EQ(view.whereabouts(0), "in step 7, update, all_gather b0 (w)");
    view.leave(1, record, /*time=*/1500);
    EXPECT_EQ(record.end, 1500);
    EXPECT_EQ(view.whereabouts(0), "in step 8, reading data");
    return {};
  });
  EXPECT_EQ(outcome.exitCode, 0);
}

TEST(LoopbackFailure, AFailureOfOneRankEndsTheWaitsOfAllAtOnce) {
  auto start = std::chrono::steady_clock::now();
  Outcome outcome = run(3, 60, [](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    if (bootstrap.rank() == 2)
      return Status::badInput("index 7 is outside [0, 5)");
    float value = 0, all[3];
    return channel->allGather(&value, all, sizeof value);
  });
  EXPECT_EQ(outcome.exitCode, 3);
  ASSERT_EQ(outcome.reports.size(), 1u);
  EXPECT_EQ(outcome.reports[0], "rank 2: index 7 is outside [0, 5)");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(LoopbackFailure, BuffersMayGoAfterAnAbort) {
  // Each round one rank leaves in the middle of a stream of collectives; the sanitizers watch its buffers.
  for (int round = 0; round < 30; ++round) {
    Outcome outcome = run(3, 60, [round](Bootstrap &bootstrap) -> Status {
      ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
      std::vector<float> source(3000), target(1000);
      Status status;
      for (int i = 0; i < 100 && status.ok(); ++i) {
        if (bootstrap.rank() == 1 && i == round)
          status = Status::programFailed("stopped");
        else
          status = channel->reduceScatter(source.data(), target.data(), 1000, nullptr);
      }
      if (!status.ok())
        bootstrap.abort(status);
      return status;
    });
    EXPECT_EQ(outcome.exitCode, 1);
    EXPECT_EQ(outcome.reports, std::vector<std::string>{"rank 1: stopped"});
  }
}

TEST(LoopbackFailure, AnAgreedErrorIsReportedOnce) {
  Outcome outcome = run(3, 60, [](Bootstrap &bootstrap) { return bootstrap.agree(Status::badInput("wrong world size")); });
  EXPECT_EQ(outcome.exitCode, 3);
  EXPECT_EQ(outcome.reports, std::vector<std::string>{"wrong world size"});
}

} // namespace
} // namespace zero
