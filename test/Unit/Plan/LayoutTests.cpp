//===- LayoutTests.cpp - Strides of tensors within buffers ----------------===//
#include "lib/Conversion/Layout.h"
#include <gtest/gtest.h>

namespace zero::conversion {
namespace {

Strides strides(std::initializer_list<int64_t> values) { return Strides(values); }

TEST(Layout, DimensionsOfSizeOneHaveNoSay) {
  EXPECT_TRUE(isDense({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(isDense({2, 2, 3}, {3, 99, 1}));
  EXPECT_TRUE(isDense({}, {}));
}

TEST(Layout, ReshapeCutsAndJoinsRuns) {
  // Columns 8..16 of rows of 24, as heads.
  EXPECT_EQ(reshapeStrides({2, 4, 8}, {96, 24, 1}, {2, 4, 2, 4}), strides({96, 24, 4, 1}));
  EXPECT_EQ(reshapeStrides({2, 4, 2, 4}, {96, 24, 4, 1}, {8, 8}), strides({24, 1}));
  // Rows of 24 do not join with their columns.
  EXPECT_EQ(reshapeStrides({4, 8}, {24, 1}, {32}), std::nullopt);
  EXPECT_EQ(reshapeStrides({4, 8}, {24, 1}, {2, 16}), std::nullopt);
  // Ones come and go.
  EXPECT_EQ(reshapeStrides({4, 8}, {24, 1}, {1, 4, 1, 8, 1})->size(), 5u);
  EXPECT_EQ(reshapeStrides({4, 1, 8}, {24, 7, 1}, {4, 8}), strides({24, 1}));
  // Dense, or without elements: always.
  EXPECT_EQ(reshapeStrides({4, 8}, {8, 1}, {2, 16}), strides({16, 1}));
  EXPECT_TRUE(reshapeStrides({0, 8}, {24, 1}, {8, 0}).has_value());
}

TEST(Layout, SpanCountsFromFirstToLastElement) {
  EXPECT_EQ(getSpan({2, 4, 8}, {96, 24, 1}), 96 + 3 * 24 + 8);
  EXPECT_EQ(getSpan({}, {}), 1);
  EXPECT_EQ(getSpan({3, 0}, {5, 1}), 0);
}

TEST(Layout, MatricesAreReadByRowsOrByColumns) {
  std::optional<MatrixLayout> rows = getMatrixLayout({4, 8}, {24, 1});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->rowStride, 24);
  EXPECT_FALSE(rows->exchanged);
  std::optional<MatrixLayout> columns = getMatrixLayout({8, 4}, {1, 24});
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->rowStride, 24);
  EXPECT_TRUE(columns->exchanged);
  EXPECT_FALSE(getMatrixLayout({8, 4}, {48, 2}));
  // Batch dimensions that are one: yes; that are none: no.
  EXPECT_EQ(getMatrixLayout({2, 3, 4, 8}, {96, 32, 8, 1})->batchStride, 32);
  EXPECT_FALSE(getMatrixLayout({2, 3, 4, 8}, {100, 32, 8, 1}));
  // One row or one column has any stride there.
  EXPECT_TRUE(getMatrixLayout({1, 8}, {3, 1}));
  EXPECT_TRUE(getMatrixLayout({8, 1}, {3, 5}));
}

} // namespace
} // namespace zero::conversion
