//===- LoopbackTests.cpp - The loopback channel ---------------------------===//
#include "test/Unit/HAL/ChannelConformance.h"
#include <gtest/gtest.h>
#include <mutex>
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
  EXPECT_NE(outcome.reports[0].find("timed out after 0.2 s, still waiting for rank 1, rank 3"), std::string::npos) << outcome.reports[0];
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
