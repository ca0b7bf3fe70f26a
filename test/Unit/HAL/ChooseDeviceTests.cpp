//===- ChooseDeviceTests.cpp - A device for each rank of a machine --------===//
#include "zero/Runtime/HAL/Bootstrap.h"
#include <gtest/gtest.h>

namespace zero {
namespace {

using Devices = std::vector<std::string>;

struct Outcome {
  int exitCode;
  std::vector<std::string> reports;
  Devices chosen; ///< by rank
};

/// Ranks of one machine that see `visible`.
Outcome choose(const std::vector<Expected<Devices>> &visible, bool shared) {
  Outcome outcome;
  outcome.chosen.resize(visible.size());
  JobOptions options;
  options.report = [&](const Status &status) { outcome.reports.push_back(status.message()); };
  outcome.exitCode = runLoopback(static_cast<unsigned>(visible.size()), options, [&](Bootstrap &bootstrap) -> Status {
    const unsigned rank = bootstrap.rank();
    ZERO_ASSIGN_OR_RETURN(unsigned index, chooseDevice(bootstrap, visible[rank], shared));
    outcome.chosen[rank] = (*visible[rank])[index];
    return {};
  });
  return outcome;
}

TEST(ChooseDevice, EachRankTakesOneOfThoseThatAllSee) {
  const Devices all = {"A", "B", "C"};
  EXPECT_EQ(choose({all, all, all}, false).chosen, all);
}

TEST(ChooseDevice, EachRankTakesTheOneThatItAloneSees) {
  EXPECT_EQ(choose({Devices{"B"}, Devices{"A"}}, false).chosen, (Devices{"B", "A"}));
  EXPECT_EQ(choose({Devices{"A", "B"}, Devices{"C", "D"}}, false).chosen, (Devices{"A", "C"}));
}

TEST(ChooseDevice, OrdersMayDiffer) {
  EXPECT_EQ(choose({Devices{"A", "B"}, Devices{"B", "A"}, Devices{"A", "B", "C"}}, false).chosen, (Devices{"A", "B", "C"}));
}

TEST(ChooseDevice, SharedOnesAreTakenByTurns) {
  const Devices all = {"A", "B"};
  EXPECT_EQ(choose({all, all, all, all, all}, true).chosen, (Devices{"A", "B", "A", "B", "A"}));
}

TEST(ChooseDevice, TwoRanksOnOneAreNamed) {
  Outcome outcome = choose({Devices{"A"}, Devices{"B", "A"}, Devices{"B", "A"}}, false);
  EXPECT_EQ(outcome.exitCode, 3);
  EXPECT_EQ(outcome.reports, (Devices{"ranks 1 and 2 of a machine would share B, and NCCL wants a GPU for each rank: rank 2 sees 2, all taken by lower ranks; "
                                      "with --comm=mpi ranks share them"}));
}

TEST(ChooseDevice, ARankThatSeesNoneEndsAll) {
  Outcome outcome = choose({Devices{"A"}, Status::badInput("no driver")}, true);
  EXPECT_EQ(outcome.exitCode, 3);
  EXPECT_EQ(outcome.reports, Devices{"rank 1: no driver"});
  EXPECT_EQ(choose({Devices{}, Devices{}}, true).reports, Devices{"there is no device to choose from"});
}

} // namespace
} // namespace zero
