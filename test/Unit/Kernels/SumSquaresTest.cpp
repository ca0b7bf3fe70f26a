//===- SumSquaresTest.cpp - sum_squares, norm, ExactSum.h -----------------===//
#include "KernelHarness.h"
#include "zero/Runtime/Kernels/ExactSum.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace zero;
using namespace zero::test;

namespace {

using Limbs = std::vector<int64_t>;

Limbs sumOf(const std::vector<std::vector<float>> &operands, ParallelFor &&parallel = Serial()) {
  std::vector<int64_t> integers{0};
  std::vector<const void *> pointers;
  for (const auto &operand : operands) {
    integers.push_back(operand.size());
    pointers.push_back(operand.data());
  }
  Limbs limbs(kExactSumLimbs, -1);
  pointers.push_back(limbs.data());
  EXPECT_OK(runKernel("sum_squares", integers, {}, pointers, std::move(parallel)));
  return limbs;
}

float normOf(const Limbs &limbs) {
  float norm = -1;
  EXPECT_OK(runKernel("norm", {}, {}, {limbs.data(), &norm}));
  return norm;
}

/// Floats of every magnitude, subnormals and extremes among them.
std::vector<float> wildFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values) {
    do {
      uint32_t bits = generator();
      std::memcpy(&value, &bits, 4);
    } while (!std::isfinite(value));
  }
  return values;
}

TEST(SumSquares, OtherElementTypes) {
  std::vector<float> values = {1.5f, -2.25f, 0.0f, 1024.0f, 0x1p-10f}; // floats of every type
  for (int i = 0; i < 3 * 64; ++i) // several cells and a rest
    values.push_back(static_cast<float>(i * 37 % 201 - 100) / 8);
  std::vector<double> doubles(values.begin(), values.end());
  std::vector<uint16_t> brain;
  for (float value : values)
    brain.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  std::vector<_Float16> half(values.begin(), values.end());
  Limbs expected = sumOf({values});
  const std::pair<int64_t, const void *> others[] = {{1, doubles.data()}, {2, half.data()}, {3, brain.data()}};
  for (auto [element, pointer] : others) {
    Limbs limbs(kExactSumLimbs, -1);
    EXPECT_OK(runKernel("sum_squares", {element, static_cast<int64_t>(values.size())}, {}, {pointer, limbs.data()}));
    EXPECT_EQ(limbs, expected) << element;
  }
}

/// Whole cells, which vector code sums, have the bits of the definition.
TEST(SumSquares, CellsHaveTheBitsOfTheirDefinition) {
  for (bool wild : {false, true}) {
    std::vector<float> values = wild ? wildFloats(64 * 300 + 17, 8) : randomFloats(64 * 300 + 17, 8);
    Limbs expected(kExactSumLimbs, 0);
    for (size_t i = 0; i < values.size(); i += 64)
      exactSumAdd(expected.data(), cellSumOfSquares(&values[i], std::min<int64_t>(64, values.size() - i)));
    exactSumCarry(expected.data());
    EXPECT_EQ(sumOf({values}), expected);
  }
}

TEST(SumSquares, SameForEveryLayout) {
  for (bool wild : {false, true}) {
    std::vector<float> values = wild ? wildFloats(64 * 1000, 3) : randomFloats(64 * 1000, 3);
    Limbs whole = sumOf({values});
    EXPECT_EQ(whole, sumOf({values}, Backwards()));
    EXPECT_EQ(whole, sumOf({values}, Threads(5)));

    // Cells in another order, over several operands and ranks.
    std::vector<int> order(1000);
    for (int i = 0; i < 1000; ++i)
      order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(5));
    Limbs ranks(kExactSumLimbs, 0);
    for (int at = 0; at < 1000;) {
      std::vector<std::vector<float>> operands;
      for (int size : {1, 7, 92})
        for (operands.emplace_back(); size-- > 0; ++at)
          operands.back().insert(operands.back().end(), values.begin() + 64 * order[at],
                                 values.begin() + 64 * order[at] + 64);
      Limbs part = sumOf(operands);
      for (int64_t i = 0; i < kExactSumLimbs; ++i)
        ranks[i] += part[i];
    }
    EXPECT_EQ(normOf(ranks), normOf(whole));
    exactSumCarry(ranks.data());
    EXPECT_EQ(ranks, whole);
  }
}

TEST(SumSquares, TailIsPaddingWithZeros) {
  std::vector<float> values = randomFloats(64 * 300 + 13, 4), padded = values;
  padded.resize(64 * 301);
  EXPECT_EQ(sumOf({values}), sumOf({padded}));
  EXPECT_EQ(normOf(sumOf({})), 0.0f);
  EXPECT_EQ(normOf(sumOf({{}, {0.0f}})), 0.0f);
}

TEST(SumSquares, AgreesWithLongDouble) {
  std::vector<float> values = randomFloats(100000, 6);
  long double sum = 0;
  for (float value : values)
    sum += static_cast<long double>(value) * value;
  EXPECT_EQ(normOf(sumOf({values})), static_cast<float>(sqrtl(sum)));
}

TEST(Norm, IsCorrectlyRounded) {
  auto rootOf = [](std::vector<double> addends) {
    Limbs limbs(kExactSumLimbs, 0);
    for (double addend : addends)
      exactSumAdd(limbs.data(), addend);
    return normOf(limbs);
  };
  // One value: the root is the value, over the whole range.
  for (int exponent = -149; exponent < 128; ++exponent) {
    float value = std::ldexp(1.0f, exponent);
    EXPECT_EQ(rootOf({double(value) * value}), value);
  }
  EXPECT_EQ(normOf(sumOf({{std::numeric_limits<float>::max()}})), std::numeric_limits<float>::max());
  for (float value : wildFloats(20000, 7))
    EXPECT_EQ(normOf(sumOf({{value}})), std::fabs(value));
  // Half-way cases: (2^23 + 1/2)^2 is even below, a hair more is above.
  double half = 8388608.5 * 8388608.5;
  EXPECT_EQ(rootOf({half}), 8388608.0f);
  EXPECT_EQ(rootOf({half, 0x1p-290}), 8388609.0f);
  double next = 8388609.5 * 8388609.5;
  EXPECT_EQ(rootOf({next}), 8388610.0f);
  EXPECT_EQ(rootOf({std::nextafter(next, 0.0)}), 8388609.0f);
  // Subnormal roots: sqrt(2) units round to 1, sqrt(3) to 2.
  EXPECT_EQ(rootOf({0x1p-298, 0x1p-298}), 0x1p-149f);
  EXPECT_EQ(rootOf({0x1p-298, 0x1p-298, 0x1p-298}), 0x1p-148f);
  // Random sums against long double, whose 64 bits decide all but the nearest ties.
  std::mt19937 generator(8);
  for (int i = 0; i < 20000; ++i) {
    double a = std::ldexp(double(generator()), int(generator() % 400) - 298 + 60);
    double b = std::ldexp(a, -int(generator() % 40));
    EXPECT_EQ(rootOf({a, b}), static_cast<float>(sqrtl(static_cast<long double>(a) + b))) << a << " " << b;
  }
}

TEST(Norm, InfinityAndNaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(normOf(sumOf({{1.0f, -infinity}})), infinity);
  EXPECT_TRUE(std::isnan(normOf(sumOf({{1.0f}, {infinity}, {nan}}))));
}

TEST(SumSquares, Refuses) {
  EXPECT_EQ(runKernel("sum_squares", {4, 64}, {}, {}).message(),
            "kernel 'sum_squares': element type i64 is not supported, must be a float");
  EXPECT_EQ(runKernel("sum_squares", {0, -64}, {}, {}).message(),
            "kernel 'sum_squares': element count is -64, must not be negative");
  EXPECT_EQ(runKernel("norm", {1}, {}, {}).message(), "kernel 'norm': takes 0 integers, got 1");
}

TEST(SumSquares, BytesThatAreNoSumGiveNoNumber) {
  for (int64_t top : {int64_t(1) << 40, int64_t(-1)}) {
    int64_t sum[zero::kExactSumLimbs] = {};
    sum[zero::exact_sum_detail::kDigits - 1] = top;
    EXPECT_TRUE(std::isnan(zero::exactSumSquareRoot(sum)));
  }
}

} // namespace
