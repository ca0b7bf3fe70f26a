//===- FusedMatmulTest.cpp - Products with what follows them --------------===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "test/CUDA/Support/CompileText.h"
#include <algorithm>
#include <cmath>
#include <numbers>

using namespace zero;
using namespace zero::test;

namespace {

/// Largest difference over the largest result: sums of k products in another order, an approximated tanh, then one rounding.
constexpr double kTolerance[] = {4e-6, 0, 2e-3, 1.6e-2};

constexpr double kRoot = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCubic = 0.044715;
double gelu(double x) { return 0.5 * x * (1 + std::tanh(kRoot * (x + kCubic * x * x * x))); }
double geluSlope(double x) {
  double t = std::tanh(kRoot * (x + kCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRoot * (1 + 3 * kCubic * x * x);
}

/// The last five integers of fused_matmul, leading dimensions as flags.
struct Epilogue {
  bool adds, hasBias;
  int64_t activation;
  bool hasBefore;
  int64_t biasGradient;
};
constexpr Epilogue kEpilogues[] = {{true, false, 0, false, 0}, {false, true, 0, false, 0}, {true, true, 0, false, 0},  {false, false, 1, false, 0}, {false, true, 1, false, 0},
                                   {false, false, 1, true, 0}, {false, true, 1, true, 0},  {false, false, 2, true, 0}, {false, false, 2, true, 3},  {false, false, 0, false, 1},
                                   {false, false, 0, false, 2}};

struct Product {
  Case one;
  std::vector<std::vector<double>> expected;
};

/// A dense product of random shape, and what its results are in double.
Product make(Numbers &numbers, int64_t element, const Epilogue &epilogue, int64_t m, int64_t n, int64_t k) {
  auto size = [](int64_t count) { return static_cast<uint64_t>(count); };
  bool transposeLhs = numbers.coin(), transposeRhs = numbers.coin();
  Product made;
  made.one = {"fused_matmul",
              {element, 1, m, n, k, transposeLhs, transposeRhs, 0, transposeLhs ? m : k, 0, transposeRhs ? k : n, 0, n, epilogue.adds ? n : 0, epilogue.hasBias,
               epilogue.activation, epilogue.hasBefore ? n : 0, epilogue.biasGradient},
              {},
              {numbers.elements(element, size(m * k)), numbers.elements(element, size(k * n))},
              {{element, size(m * n), kTolerance[element]}}};
  Case &one = made.one;
  const auto add = [&](int64_t count) {
    one.reads.push_back(numbers.elements(element, size(count)));
    return numbersOf(element, one.reads.back());
  };
  std::vector<double> lhs = numbersOf(element, one.reads[0]), rhs = numbersOf(element, one.reads[1]), addend, bias, before;
  if (epilogue.adds)
    addend = add(m * n);
  if (epilogue.hasBias)
    bias = add(n);
  if (epilogue.activation == 2)
    before = add(m * n);
  auto left = [&](int64_t row, int64_t l) { return lhs[size(transposeLhs ? l * m + row : row * k + l)]; };
  auto right = [&](int64_t l, int64_t column) { return rhs[size(transposeRhs ? column * k + l : l * n + column)]; };
  std::vector<double> out(size(m * n)), stored(size(m * n)), sums(size(epilogue.biasGradient == 2 ? m : n));
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += left(row, l) * right(l, column);
      auto at = size(row * n + column);
      sum += (addend.empty() ? 0 : addend[at]) + (bias.empty() ? 0 : bias[size(column)]);
      stored[at] = sum;
      out[at] = epilogue.activation == 1 ? gelu(sum) : epilogue.activation == 2 ? sum * geluSlope(before[at]) : sum;
      if (epilogue.biasGradient == 3)
        sums[size(column)] += out[at];
    }
  for (int64_t l = 0; l < k && (epilogue.biasGradient == 1 || epilogue.biasGradient == 2); ++l)
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += epilogue.biasGradient == 1 ? right(l, static_cast<int64_t>(i)) : left(static_cast<int64_t>(i), l);
  made.expected.push_back(out);
  auto expect = [&](const std::vector<double> &result) {
    one.writes.push_back({element, result.size(), kTolerance[element]});
    made.expected.push_back(result);
  };
  if (epilogue.activation == 1 && epilogue.hasBefore)
    expect(stored);
  if (epilogue.biasGradient)
    expect(sums);
  return made;
}

void expectOnDevice(const std::vector<Product> &products, const CudaOptions &options) {
  if (!device())
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  std::vector<Case> cases;
  for (const Product &product : products)
    cases.push_back(product.one);
  std::vector<DeviceResult> results = runOnDevice(cases, options);
  ASSERT_EQ(results.size(), products.size());
  for (size_t i = 0; i < products.size(); ++i) {
    SCOPED_TRACE(testing::PrintToString(cases[i].integers));
    ASSERT_EQ(results[i].writes.size(), products[i].expected.size());
    for (size_t j = 0; j < results[i].writes.size(); ++j) {
      const std::vector<double> got = numbersOf(cases[i].writes[j].element, results[i].writes[j]), &expected = products[i].expected[j];
      ASSERT_EQ(got.size(), expected.size());
      double largest = 0, worst = 0;
      for (size_t at = 0; at < got.size(); ++at) {
        largest = std::max(largest, std::fabs(expected[at]));
        worst = std::isfinite(got[at]) ? std::max(worst, std::fabs(got[at] - expected[at])) : INFINITY;
      }
      EXPECT_LE(worst, cases[i].writes[j].tolerance * largest) << "result " << j;
    }
  }
}

TEST(CudaFusedMatmul, Epilogues) {
  Numbers numbers(11);
  std::vector<Product> products;
  for (int64_t element : {F32, F16, BF16})
    for (const Epilogue &epilogue : kEpilogues)
      for (int i = 0; i < 3; ++i) {
        int64_t n = epilogue.hasBefore ? 8 * numbers.between(1, 9) : numbers.between(1, 70);
        products.push_back(make(numbers, element, epilogue, numbers.between(1, 70), n, numbers.between(1, 100)));
      }
  expectOnDevice(products, smallWorkspace());
}

TEST(CudaFusedMatmul, WithoutWorkspace) {
  Numbers numbers(12);
  CudaOptions options;
  options.workspaceBytes = 0;
  std::vector<Product> products;
  for (const Epilogue &epilogue : kEpilogues)
    products.push_back(make(numbers, F32, epilogue, 17, 24, 19));
  expectOnDevice(products, options);
}

/// Partial sums may be rounded: further away, and not everywhere the same bits.
TEST(CudaFusedMatmul, AddsInAnyOrder) {
  Numbers numbers(13);
  CudaOptions fast = smallWorkspace();
  fast.fast = true;
  std::vector<Product> products;
  for (int64_t element : {F32, BF16})
    for (const Epilogue &epilogue : kEpilogues) {
      products.push_back(make(numbers, element, epilogue, 32, 24, 200));
      for (Write &write : products.back().one.writes)
        write.tolerance *= 4;
    }
  expectOnDevice(products, fast);
}

TEST(CudaFusedMatmul, SaysWhatItTakes) {
  StreamDevice *gpu = device();
  if (!gpu)
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  auto module = compileText(*gpu, {}, {"extern \"C\" __global__ void none() {}"});
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto prepare = [&](std::vector<int64_t> integers, std::vector<void *> pointers) {
    return prepareCudaKernel("fused_matmul", integers, {}, pointers, smallWorkspace(), {*gpu, **module, nullptr, 0}).status().message();
  };
  const std::vector<int64_t> withBefore = {F32, 1, 2, 8, 2, 0, 0, 0, 2, 0, 8, 0, 8, 0, 1, 1, 8, 0};
  EXPECT_EQ(prepare(withBefore, std::vector<void *>(5)), "kernel 'fused_matmul': takes 6 pointers, got 5");
  std::vector<void *> pointers(6);
  pointers[4] = reinterpret_cast<void *>(uintptr_t{8});
  EXPECT_EQ(prepare(withBefore, pointers), "fused_matmul: what GELU is applied to does not start at a multiple of 16 bytes");
}

TEST(CudaFusedMatmul, Refuses) {
  auto message = [](std::vector<int64_t> epilogue, int64_t element = F32, int64_t m = 2, int64_t batch = 1) -> std::string {
    std::vector<int64_t> integers = {element, batch, m, 8, 2, 0, 0, 0, 2, 0, 8, 16, 8};
    integers.insert(integers.end(), epilogue.begin(), epilogue.end());
    auto launches = planCudaLaunches("fused_matmul", integers, {}, {});
    return launches.ok() ? "" : launches.status().message();
  };
  EXPECT_EQ(message({0, 1, 0, 0, 0}), "");
  EXPECT_EQ(message({0, 1, 0, 0, 0}, F64), "kernel 'fused_matmul': element type f64 is not supported");
  EXPECT_EQ(message({0, 1, 0, 0, 0}, I32), "kernel 'fused_matmul': element type i32 is not supported, must be a float");
  EXPECT_EQ(message({0, 1, 0, 0, 0}, F32, 0), "kernel 'fused_matmul': takes one product of matrices that have elements, not 1 x (0 x 2 by 2 x 8)");
  EXPECT_EQ(message({0, 1, 0, 0, 0}, F32, 2, 3), "kernel 'fused_matmul': takes one product of matrices that have elements, not 3 x (2 x 2 by 2 x 8)");
  EXPECT_EQ(message({4, 0, 0, 0, 0}), "kernel 'fused_matmul': addend_ld is 4, must be at least the 8 elements of a row");
  EXPECT_EQ(message({0, 0, 3, 0, 0}), "kernel 'fused_matmul': activation is 3, outside [0, 3)");
  EXPECT_EQ(message({0, 0, 0, 0, 4}), "kernel 'fused_matmul': bias_gradient is 4, outside [0, 4)");
  EXPECT_EQ(message({0, 0, 0, 8, 0}), "kernel 'fused_matmul': before_ld is 8 with activation 0");
  EXPECT_EQ(message({0, 0, 2, 0, 0}), "kernel 'fused_matmul': before_ld is 0 with activation 2");
  EXPECT_EQ(message({0, 0, 1, 12, 0}), "kernel 'fused_matmul': before_ld is 12, must be a multiple of 8 and at least the 8 elements of a row");
  for (std::vector<int64_t> epilogue : {std::vector<int64_t>{8, 0, 1, 0, 0}, {0, 1, 2, 8, 0}, {0, 0, 1, 8, 3}, {0, 1, 0, 0, 1}, {8, 0, 0, 0, 2}})
    EXPECT_EQ(message(epilogue), "kernel 'fused_matmul': cannot combine addend_ld " + std::to_string(epilogue[0]) + ", has_bias " + std::to_string(epilogue[1]) +
                                     ", activation " + std::to_string(epilogue[2]) + " and bias_gradient " + std::to_string(epilogue[4]));
  EXPECT_EQ(message({}), "kernel 'fused_matmul': takes 18 integers, got 13");
}

} // namespace
