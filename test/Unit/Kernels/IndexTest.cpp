//===- IndexTest.cpp - gather, scatter_add --------------------------------===//
#include "KernelHarness.h"

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
  EXPECT_EQ(runKernel("scatter_add", {3, 4, 1, 2, 1, 3}, {}, {}).message(),
            "kernel 'scatter_add': element type bf16 is not supported, must be f32, f64, i64 or i32");
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
            "kernel 'gather': indices are i64 or i32, got element type f32");
}

} // namespace
