//===- RankRangeTests.cpp - Bytes that each rank has at a place of its own ===//
#include "zero/Runtime/HAL/RankRange.h"
#include <gtest/gtest.h>

namespace zero {
namespace {

bool shareBytes(const RankRange &a, const RankRange &b, int64_t ranks) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t byte = a.begin + rank * a.stride; byte < a.begin + rank * a.stride + a.size; ++byte)
      if (byte >= b.begin + rank * b.stride && byte < b.begin + rank * b.stride + b.size)
        return true;
  return false;
}

TEST(RankRange, OverlapsWhereARankHasAByteTwice) {
  int overlaps = 0, apart = 0;
  for (int64_t begin = 0; begin < 9; ++begin)
    for (int64_t sizeA = 0; sizeA < 4; ++sizeA)
      for (int64_t sizeB = 0; sizeB < 4; ++sizeB)
        for (int64_t strideA = 0; strideA < 6; ++strideA)
          for (int64_t strideB = 0; strideB < 6; ++strideB)
            for (int64_t ranks = 1; ranks < 6; ++ranks) {
              const RankRange a{4, sizeA, strideA}, b{begin, sizeB, strideB};
              const bool expected = shareBytes(a, b, ranks);
              ASSERT_EQ(overlap(a, b, ranks), expected) << begin << " " << sizeA << " " << sizeB << " " << strideA << " " << strideB << " " << ranks;
              ASSERT_EQ(overlap(b, a, ranks), expected);
              ++(expected ? overlaps : apart);
            }
  EXPECT_GT(overlaps, 1000);
  EXPECT_GT(apart, 1000);
}

TEST(RankRange, KnowsARanksPart) {
  const RankRange whole{64, 96, 0};
  EXPECT_TRUE((RankRange{64, 32, 32}.isOwnPart(whole, 3)));
  EXPECT_FALSE((RankRange{64, 32, 64}.isOwnPart(whole, 3)));
  EXPECT_FALSE((RankRange{96, 32, 32}.isOwnPart(whole, 3)));
  EXPECT_FALSE((RankRange{64, 24, 24}.isOwnPart(whole, 3)));
  EXPECT_FALSE((RankRange{64, 32, 32}.isOwnPart({64, 96, 8}, 3)));
  EXPECT_TRUE((RankRange{64, 96, 0}.isOwnPart(whole, 1)));
}

} // namespace
} // namespace zero
