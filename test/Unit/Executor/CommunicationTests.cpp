//===- CommunicationTests.cpp - How long collectives take -----------------===//
#include "lib/Runtime/Executor/CommunicationClock.h"
#include <gtest/gtest.h>

namespace zero {
namespace {

TEST(CommunicationIntervals, CountTimeOnceInWhateverOrderTheyCome) {
  CommunicationIntervals intervals;
  intervals.add(3'000'000'000, 5'000'000'000);
  intervals.add(1'000'000'000, 2'000'000'000);
  intervals.add(4'000'000'000, 6'000'000'000); // beside the first
  intervals.add(4'500'000'000, 4'700'000'000); // within
  EXPECT_DOUBLE_EQ(intervals.seconds(), 4);
  EXPECT_DOUBLE_EQ(intervals.seconds(), 4); // asking again adds nothing
  intervals.add(5'500'000'000, 8'000'000'000);
  EXPECT_DOUBLE_EQ(intervals.seconds(), 6);
}

TEST(CommunicationIntervals, ManyAreFoldedTogether) {
  CommunicationIntervals intervals;
  for (int64_t i = 0; i < 100'000; ++i)
    intervals.add(i * 1'000'000, i * 1'000'000 + 500'000);
  EXPECT_DOUBLE_EQ(intervals.seconds(), 50);
}

} // namespace
} // namespace zero
