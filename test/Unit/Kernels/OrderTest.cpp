//===- OrderTest.cpp - top_k, cumsum --------------------------------------===//
#include "KernelHarness.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace zero;
using namespace zero::test;

namespace {

template <typename T>
void checkTopK(int64_t element, int64_t outer, int64_t axisSize, int64_t inner, int64_t k) {
  std::vector<T> in(outer * axisSize * inner);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<T>((i * i * 7 + i) % 11); // with ties
  if constexpr (std::is_floating_point_v<T>)
    for (size_t i = 3; i < in.size(); i += 9)
      in[i] = std::numeric_limits<T>::quiet_NaN();
  for (bool smallest : {false, true}) {
    std::vector<int64_t> expected(outer * k * inner), order(axisSize);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          T x = in[(o * axisSize + a) * inner + i], y = in[(o * axisSize + b) * inner + i];
          bool larger = x != x ? y == y : x > y, smaller = y != y ? x == x : y > x;
          return larger == smaller ? a < b : smallest ? smaller : larger;
        });
        for (int64_t j = 0; j < k; ++j)
          expected[(o * k + j) * inner + i] = order[j];
      }
    auto run = [&](ParallelFor &&parallel) {
      std::vector<int64_t> out(expected.size(), -1);
      EXPECT_OK(runKernel("top_k", {element, outer, axisSize, inner, k, smallest}, {},
                          {in.data(), out.data()}, std::move(parallel)));
      EXPECT_EQ(out, expected);
    };
    run(Serial());
    run(Backwards());
    run(Threads(3));
  }
}

TEST(Order, TopK) {
  for (int64_t k : {0, 1, 3, 20})
    checkTopK<float>(0, 3, 20, 2, k);
  checkTopK<double>(1, 1, 100, 1, 37);
  checkTopK<int64_t>(4, 2, 9, 1, 9);
  checkTopK<int8_t>(7, 2, 9, 3, 4);
  checkTopK<uint8_t>(8, 2, 9, 3, 4);
  checkTopK<uint16_t>(10, 2, 9, 3, 4);
  checkTopK<uint64_t>(12, 2, 9, 3, 4);
  checkTopK<float>(0, 0, 5, 2, 2);
  checkTopK<float>(0, 2, 0, 2, 0);
}

TEST(Order, TopKOfNarrowFloatsAndBits) {
  uint16_t in[] = {0xbf80, 0x4000, 0x7fc0, 0x3f80}; // bf16 -1, 2, NaN, 1
  int64_t out[4];
  EXPECT_OK(runKernel("top_k", {3, 1, 4, 1, 4, 0}, {}, {in, out}));
  EXPECT_EQ(std::vector<int64_t>(out, out + 4), (std::vector<int64_t>{2, 1, 3, 0}));
  bool bits[] = {false, true, true};
  EXPECT_OK(runKernel("top_k", {9, 1, 3, 1, 3, 0}, {}, {bits, out}));
  EXPECT_EQ(std::vector<int64_t>(out, out + 3), (std::vector<int64_t>{1, 2, 0}));
}

template <typename T> void checkCumSum(int64_t element, int64_t outer, int64_t axisSize, int64_t inner) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  std::vector<T> in(outer * axisSize * inner);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<T>(static_cast<T>(i * 37 % 91) / static_cast<T>(3));
  for (bool exclusive : {false, true})
    for (bool reverse : {false, true}) {
      std::vector<T> expected(in.size());
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
          Sum sum = 0;
          for (int64_t step = 0; step < axisSize; ++step) {
            int64_t at = (o * axisSize + (reverse ? axisSize - 1 - step : step)) * inner + i;
            Sum before = sum;
            sum += static_cast<Sum>(in[at]);
            expected[at] = static_cast<T>(exclusive ? before : sum);
          }
        }
      auto run = [&](ParallelFor &&parallel) {
        std::vector<T> out(in.size(), T(77));
        EXPECT_OK(runKernel("cumsum", {element, outer, axisSize, inner, exclusive, reverse}, {},
                            {in.data(), out.data()}, std::move(parallel)));
        EXPECT_TRUE(sameBits(out, expected));
      };
      run(Serial());
      run(Backwards());
      run(Threads(3));
    }
}

TEST(Order, CumSum) {
  checkCumSum<float>(0, 3, 20, 37);
  checkCumSum<double>(1, 1, 9, 1);
  checkCumSum<int64_t>(4, 2, 5, 2);
  checkCumSum<int32_t>(5, 2, 5, 2);
  checkCumSum<int16_t>(6, 1, 300, 2);
  checkCumSum<int8_t>(7, 1, 300, 2);
  checkCumSum<uint8_t>(8, 1, 300, 2);
  checkCumSum<uint16_t>(10, 1, 300, 2);
  checkCumSum<uint32_t>(11, 1, 30, 2);
  checkCumSum<uint64_t>(12, 1, 30, 2);
  checkCumSum<float>(0, 2, 0, 3);
  checkCumSum<float>(0, 2, 3, 0);
}

/// Sums of 16-bit floats are rounded once each: 256 + 1 + 1 is no bf16 until the second 1.
TEST(Order, CumSumOfNarrowFloats) {
  uint16_t in[] = {0x4380, 0x3f80, 0x3f80}, out[3]; // 256, 1, 1
  EXPECT_OK(runKernel("cumsum", {3, 1, 3, 1, 0, 0}, {}, {in, out}));
  EXPECT_EQ(out[1], 0x4380);
  EXPECT_EQ(out[2], 0x4381); // 258
}

TEST(Order, Refuses) {
  EXPECT_EQ(runKernel("top_k", {0, 1, 3, 1, 4, 0}, {}, {}).message(),
            "kernel 'top_k': k is 4 and axis_size only 3");
  EXPECT_EQ(runKernel("top_k", {13, 1, 3, 1, 3, 0}, {}, {}).message(),
            "kernel 'top_k': element type 13 is not supported");
  EXPECT_EQ(runKernel("cumsum", {9, 1, 3, 1, 0, 0}, {}, {}).message(),
            "kernel 'cumsum': element type i1 is not supported");
}

} // namespace
