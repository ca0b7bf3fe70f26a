//===- IndexTest.cpp - gather, scatter_add, scatter -----------------------===//
#include "KernelHarness.h"
#include "lib/Runtime/Kernels/Narrow.h"
#include <array>
#include <cmath>

using namespace zero;
using namespace zero::test;

namespace {

template <typename Index>
void check(int64_t indexElement, int64_t outer, int64_t axisSize, int64_t inner, int64_t count) {
  std::vector<float> data = randomFloats(outer * axisSize * inner, 1),
                     updates = randomFloats(outer * count * inner, 2);
  std::vector<Index> indices(count);
  for (int64_t c = 0; c < count; ++c)
    indices[c] = static_cast<Index>((c * c * 7 + c) % axisSize);
  std::vector<float> gathered(outer * count * inner), scattered(outer * axisSize * inner, 0.0f);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < count; ++c)
      for (int64_t i = 0; i < inner; ++i) {
        gathered[(o * count + c) * inner + i] = data[(o * axisSize + indices[c]) * inner + i];
        scattered[(o * axisSize + indices[c]) * inner + i] += updates[(o * count + c) * inner + i];
      }
  auto run = [&](ParallelFor &&parallel) {
    std::vector<float> out(gathered.size(), 9.0f), sum(scattered.size(), 9.0f);
    EXPECT_OK(runKernel("gather", {4, indexElement, outer, axisSize, inner, count}, {},
                        {data.data(), indices.data(), out.data()}, std::move(parallel)));
    EXPECT_TRUE(sameBits(out, gathered));
    EXPECT_OK(runKernel("scatter_add", {0, indexElement, outer, axisSize, inner, count}, {},
                        {updates.data(), indices.data(), sum.data()}, std::move(parallel)));
    EXPECT_TRUE(sameBits(sum, scattered));
  };
  run(Serial());
  run(Backwards());
  run(Threads(3));
}

TEST(Index, GatherAndScatterAdd) {
  check<int64_t>(4, 1, 50, 64, 200);
  check<int64_t>(4, 3, 7, 37, 20);
  check<int32_t>(5, 2, 5, 1, 33);
  check<int32_t>(5, 1, 5, 2, 1);
  check<int64_t>(4, 2, 5, 16, 0);
}

TEST(Index, ScatterAddElementTypes) {
  int64_t indices[] = {1, 1, 0};
  double updates[] = {0.5, 0.25, 4}, doubles[2];
  EXPECT_OK(runKernel("scatter_add", {1, 4, 1, 2, 1, 3}, {}, {updates, indices, doubles}));
  EXPECT_EQ(doubles[1], 0.75);
  int32_t words[] = {1, 2, 4}, sums[2];
  EXPECT_OK(runKernel("scatter_add", {5, 4, 1, 2, 1, 3}, {}, {words, indices, sums}));
  EXPECT_EQ(sums[1], 3);
  int64_t longs[] = {1, 2, 4}, totals[2];
  EXPECT_OK(runKernel("scatter_add", {4, 4, 1, 2, 1, 3}, {}, {longs, indices, totals}));
  EXPECT_EQ(totals[1], 3);
  uint16_t halves[] = {0x3f80, 0x4000, 0x4080}, parts[2]; // bf16 1, 2, 4
  EXPECT_OK(runKernel("scatter_add", {3, 4, 1, 2, 1, 3}, {}, {halves, indices, parts}));
  EXPECT_EQ(parts[1], 0x4040);
  EXPECT_EQ(runKernel("scatter_add", {3, 4, 1, 2, 1, 3, 0}, {}, {}).message(),
            "kernel 'scatter_add': takes 6 integers, got 7");
  EXPECT_EQ(runKernel("scatter_add", {9, 4, 1, 2, 1, 3}, {}, {}).message(),
            "kernel 'scatter_add': element type i1 is not supported");
}

/// Every index element type reads the same rows; every element width is copied whole.
TEST(Index, GatherTypes) {
  int64_t i64[] = {2, 0, 2};
  int32_t i32[] = {2, 0, 2};
  int16_t i16[] = {2, 0, 2};
  int8_t i8[] = {2, 0, 2};
  uint32_t u32[] = {2, 0, 2};
  std::pair<int64_t, const void *> readers[] = {{4, i64}, {5, i32},  {6, i16},  {7, i8},
                                                {8, i8},  {10, i16}, {11, u32}, {12, i64}};
  for (auto [element, indices] : readers)
    for (int64_t bytes : {1, 2, 4, 8})
      for (int64_t inner : {1, 3}) {
        std::vector<uint8_t> data(3 * inner * bytes), out(data.size()), expected;
        for (size_t i = 0; i < data.size(); ++i)
          data[i] = static_cast<uint8_t>(i * 7 + 1);
        for (int64_t row : i64)
          expected.insert(expected.end(), data.begin() + row * inner * bytes,
                          data.begin() + (row + 1) * inner * bytes);
        EXPECT_OK(
            runKernel("gather", {bytes, element, 1, 3, inner, 3}, {}, {data.data(), indices, out.data()}));
        EXPECT_TRUE(sameBits(out, expected)) << element << " " << bytes << " " << inner;
      }
}

/// No row, no index, no column: nothing is read.
TEST(Index, ZeroSizes) {
  int64_t indices[] = {0};
  EXPECT_OK(runKernel("gather", {4, 4, 1, 0, 3, 0}, {}, {nullptr, indices, nullptr}));
  EXPECT_OK(runKernel("gather", {4, 4, 2, 1, 0, 1}, {}, {nullptr, indices, nullptr}));
  EXPECT_OK(runKernel("scatter_add", {0, 4, 0, 3, 2, 1}, {}, {nullptr, indices, nullptr}));
  float data[] = {1, 2}, out[] = {9, 9};
  EXPECT_OK(runKernel("scatter", {0, 0, 4, 1, 2, 1, 0}, {}, {data, nullptr, indices, out}));
  EXPECT_EQ(out[1], 2);
  EXPECT_EQ(runKernel("gather", {4, 4, 1, 0, 3, 1}, {}, {nullptr, indices, nullptr}).message(),
            "gather: index 0 at position 0 is outside [0, 0)");
}

template <typename T> T combined(int64_t kind, T a, T b) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>; // integers wrap around
  switch (kind) {
  case 1:
    return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  case 2:
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  case 3:
    return std::max(a, b);
  case 4:
    return std::min(a, b);
  default:
    return b;
  }
}

template <typename T>
void checkScatter(int64_t element, int64_t outer, int64_t axisSize, int64_t inner, int64_t count) {
  std::vector<T> data(outer * axisSize * inner), updates(outer * count * inner);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<T>(i % 23) - static_cast<T>(5);
  for (size_t i = 0; i < updates.size(); ++i)
    updates[i] = static_cast<T>(i % 17) - static_cast<T>(8);
  std::vector<int32_t> indices(count);
  for (int64_t c = 0; c < count; ++c)
    indices[c] = static_cast<int32_t>((c * c * 7 + c) % axisSize);
  for (int64_t kind : {0, 1, 2, 3, 4}) {
    std::vector<T> expected = data;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = 0; c < count; ++c)
        for (int64_t i = 0; i < inner; ++i) {
          T &at = expected[(o * axisSize + indices[c]) * inner + i];
          at = combined(kind, at, updates[(o * count + c) * inner + i]);
        }
    auto run = [&](ParallelFor &&parallel) {
      std::vector<T> out(expected.size(), T(9));
      EXPECT_OK(runKernel("scatter", {kind, element, 5, outer, axisSize, inner, count}, {},
                          {data.data(), updates.data(), indices.data(), out.data()}, std::move(parallel)));
      EXPECT_TRUE(sameBits(out, expected)) << "kind " << kind << " element " << element;
    };
    run(Serial());
    run(Backwards());
    run(Threads(3));
  }
}

TEST(Index, Scatter) {
  checkScatter<float>(0, 2, 5, 37, 9);
  checkScatter<double>(1, 1, 7, 1, 20);
  checkScatter<int64_t>(4, 3, 4, 2, 6);
  checkScatter<int32_t>(5, 1, 6, 3, 4);
  checkScatter<int16_t>(6, 1, 6, 3, 4);
  checkScatter<int8_t>(7, 1, 6, 3, 4);
  checkScatter<uint8_t>(8, 1, 6, 3, 4);
  checkScatter<uint16_t>(10, 1, 6, 3, 4);
  checkScatter<uint32_t>(11, 1, 6, 3, 4);
  checkScatter<uint64_t>(12, 1, 6, 3, 4);
}

/// 16-bit floats are combined as the numbers they are.
TEST(Index, ScatterNarrowFloats) {
  int64_t indices[] = {1, 1};
  uint16_t data[] = {0x3f80, 0x4000}, updates[] = {0x4040, 0xbf80}, out[2]; // 1, 2; 3, -1
  uint16_t expected[] = {0xbf80, 0x4080, 0xc0c0, 0x4040, 0xbf80};           // -1, 4, -6, 3, -1
  for (int64_t kind : {0, 1, 2, 3, 4}) {
    EXPECT_OK(runKernel("scatter", {kind, 3, 4, 1, 2, 1, 2}, {}, {data, updates, indices, out}));
    EXPECT_EQ(out[0], data[0]);
    EXPECT_EQ(out[1], expected[kind]) << kind;
  }
  _Float16 halves[] = {1, 2}, more[] = {0.5, 0.25}, sums[2];
  EXPECT_OK(runKernel("scatter", {1, 2, 4, 1, 2, 1, 2}, {}, {halves, more, indices, sums}));
  EXPECT_EQ(static_cast<float>(sums[1]), 2.75f);
}

template <typename T> void checkNarrowScatterAdd(int64_t element, int64_t outer, int64_t axisSize, int64_t inner, int64_t count) {
  std::vector<float> floats = randomFloats(outer * count * inner, 4);
  std::vector<T> updates(floats.begin(), floats.end());
  std::vector<int32_t> indices(count);
  for (int64_t c = 0; c < count; ++c)
    indices[c] = static_cast<int32_t>((c * c * 7 + c) % axisSize);
  std::vector<float> sums(outer * axisSize * inner, 0.0f);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < count; ++c)
      for (int64_t i = 0; i < inner; ++i)
        sums[(o * axisSize + indices[c]) * inner + i] += static_cast<float>(updates[(o * count + c) * inner + i]);
  std::vector<T> expected(sums.begin(), sums.end());
  auto run = [&](ParallelFor &&parallel) {
    std::vector<T> out(expected.size(), T(9.0f));
    EXPECT_OK(runKernel("scatter_add", {element, 5, outer, axisSize, inner, count}, {},
                        {updates.data(), indices.data(), out.data()}, std::move(parallel)));
    EXPECT_TRUE(sameBits(out, expected)) << outer << " " << axisSize << " " << inner << " " << count;
  };
  run(Serial());
  run(Backwards());
  run(Threads(3));
}

/// Sums of 16-bit floats are rounded once.
TEST(Index, ScatterAddNarrowFloats) {
  for (auto [outer, axisSize, inner, count] : {std::array<int64_t, 4>{1, 7, 300, 40}, {2, 5, 37, 9}, {3, 4, 1, 0}, {1, 9, 0, 4}}) {
    checkNarrowScatterAdd<kernels::Float16>(2, outer, axisSize, inner, count);
    checkNarrowScatterAdd<kernels::BFloat16>(3, outer, axisSize, inner, count);
  }
}

TEST(Index, ScatterExtremes) {
  int64_t indices[] = {0, 1, 2};
  float nan = std::nanf(""), data[] = {nan, 1, 0.0f}, updates[] = {1, nan, -0.0f}, out[3];
  for (int64_t kind : {3, 4}) {
    EXPECT_OK(runKernel("scatter", {kind, 0, 4, 1, 3, 1, 3}, {}, {data, updates, indices, out}));
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
    EXPECT_EQ(std::signbit(out[2]), kind == 4);
  }
}

TEST(Index, Refuses) {
  int64_t indices[] = {0, 5};
  float data[10] = {}, out[10];
  EXPECT_EQ(runKernel("gather", {4, 4, 1, 5, 2, 2}, {}, {data, indices, out}).message(),
            "gather: index 5 at position 1 is outside [0, 5)");
  indices[0] = -1;
  EXPECT_EQ(runKernel("scatter_add", {0, 4, 1, 5, 2, 2}, {}, {data, indices, out}).message(),
            "scatter_add: index -1 at position 0 is outside [0, 5)");
  EXPECT_EQ(runKernel("gather", {4, 0, 1, 5, 2, 2}, {}, {}).message(),
            "kernel 'gather': indices are integers, got element type f32");
  EXPECT_EQ(runKernel("scatter", {0, 0, 4, 1, 5, 2, 2}, {}, {data, data, indices, out}).message(),
            "scatter: index -1 at position 0 is outside [0, 5)");
  EXPECT_EQ(runKernel("scatter", {5, 0, 4, 1, 5, 2, 2}, {}, {}).message(),
            "kernel 'scatter': kind is 5, outside [0, 5)");
  EXPECT_EQ(runKernel("scatter", {1, 9, 4, 1, 5, 2, 2}, {}, {}).message(),
            "kernel 'scatter': element type i1 is not supported");
}

} // namespace
