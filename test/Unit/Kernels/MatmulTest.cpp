//===- MatmulTest.cpp - matmul --------------------------------------------===//
#include "KernelHarness.h"
#include "lib/Runtime/Kernels/MatmulPacked.h"
#include "lib/Runtime/Kernels/Narrow.h"
#include "lib/Runtime/Kernels/OneDnn.h"
#include "zero/Runtime/Kernels/MatmulSizes.h"
#include <array>
#include <cmath>

using namespace zero;
using namespace zero::test;
using kernels::BFloat16;
using kernels::Float16;

namespace {

template <typename T> constexpr int64_t kElement = 0;
template <> constexpr int64_t kElement<double> = 1;
template <> constexpr int64_t kElement<Float16> = 2;
template <> constexpr int64_t kElement<BFloat16> = 3;

/// What an element may be off: beside sums of `k` products of normal numbers, and relative to the result, whose last bit is
/// as rounding may have it.
template <typename T> constexpr double kSumError = 4e-6;
template <typename T> constexpr double kLastBit = 0;
template <> constexpr double kSumError<double> = 4e-15;
template <> constexpr double kLastBit<Float16> = 0x1p-11;
template <> constexpr double kLastBit<BFloat16> = 0x1p-8;

struct Product {
  int64_t batch, m, n, k;
  bool transposeLhs = false, transposeRhs = false;
  int64_t lhsPad = 0, rhsPad = 0, outPad = 0; // elements between rows beyond the matrix
  bool sharedRhs = false;                     // the same right side for the whole batch

  int64_t lhsRows() const { return transposeLhs ? k : m; }
  int64_t rhsRows() const { return transposeRhs ? n : k; }
  int64_t lhsLd() const { return (transposeLhs ? m : k) + lhsPad; }
  int64_t rhsLd() const { return (transposeRhs ? k : n) + rhsPad; }
  int64_t outLd() const { return n + outPad; }
  int64_t rhsStride() const { return sharedRhs ? 0 : rhsRows() * rhsLd(); }
  std::vector<int64_t> integers(int64_t element) const {
    return {
        element, batch,       m,       n,           k,      transposeLhs, transposeRhs, lhsRows() * lhsLd(),
        lhsLd(), rhsStride(), rhsLd(), m * outLd(), outLd()};
  }
};

template <typename T>
std::vector<T> multiply(const Product &p, const std::vector<T> &lhs, const std::vector<T> &rhs,
                        ParallelFor &&parallel = Serial(), size_t lhsOffset = 0, size_t rhsOffset = 0,
                        size_t outOffset = 0) {
  Aligned<T> a(lhs, lhsOffset), b(rhs, rhsOffset), out(p.batch * p.m * p.outLd(), outOffset, T(7.0f));
  EXPECT_OK(runKernel("matmul", p.integers(kElement<T>), {}, {a.data(), b.data(), out.data()}, std::move(parallel)));
  return out.values();
}

template <typename T> void checkFloats(const Product &p) {
  SCOPED_TRACE(testing::PrintToString(p.integers(kElement<T>)));
  std::vector<float> leftFloats = randomFloats(p.batch * p.lhsRows() * p.lhsLd(), 1);
  std::vector<float> rightFloats = randomFloats(p.batch * p.rhsRows() * p.rhsLd(), 2);
  std::vector<T> lhs(leftFloats.begin(), leftFloats.end()), rhs(rightFloats.begin(), rightFloats.end());
  if constexpr (sizeof(T) == 8) // digits that a float does not have
    for (T &value : lhs)
      value *= T(1) / 3;
  std::vector<T> out = multiply(p, lhs, rhs);
  double worst = 0;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        std::conditional_t<sizeof(T) == 8, long double, double> sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += static_cast<decltype(sum)>(lhs[b * p.lhsRows() * p.lhsLd() +
                            (p.transposeLhs ? l * p.lhsLd() + i : i * p.lhsLd() + l)]) *
                 static_cast<decltype(sum)>(rhs[b * p.rhsStride() + (p.transposeRhs ? j * p.rhsLd() + l : l * p.rhsLd() + j)]);
        auto error = std::fabs(static_cast<double>(sum - static_cast<decltype(sum)>(out[(b * p.m + i) * p.outLd() + j])));
        worst = std::max(worst, error - kLastBit<T> * std::fabs(static_cast<double>(sum)));
      }
      for (int64_t j = p.n; j < p.outLd(); ++j)
        EXPECT_EQ(static_cast<double>(out[(b * p.m + i) * p.outLd() + j]), 7.0) << "wrote between the rows";
    }
  EXPECT_LE(worst, kSumError<T> * (std::sqrt(double(p.k)) + 1));
  EXPECT_TRUE(sameBits(out, multiply(p, lhs, rhs, Backwards())));
  EXPECT_TRUE(sameBits(out, multiply(p, lhs, rhs, Threads(3))));
  // Views in buckets start at multiples of 256 bytes, buffers at multiples of 64.
  for (auto [a, b, c] : {std::tuple{64, 0, 0}, {0, 64, 0}, {0, 0, 64}, {192, 320, 448}})
    EXPECT_TRUE(sameBits(out, multiply(p, lhs, rhs, Serial(), a, b, c))) << a << " " << b << " " << c;
}

void check(const Product &p) {
  checkFloats<float>(p);
  checkFloats<double>(p);
  checkFloats<Float16>(p);
  checkFloats<BFloat16>(p);
}

TEST(Matmul, ShapesAndTransposes) {
  for (bool lhs : {false, true})
    for (bool rhs : {false, true}) {
      check({1, 64, 64, 64, lhs, rhs});
      check({1, 1, 1, 1, lhs, rhs});
      check({1, 33, 17, 129, lhs, rhs});
      check({1, 12, 10, 32, lhs, rhs});
      check({1, 1, 100, 64, lhs, rhs});
      check({1, 100, 1, 64, lhs, rhs});
      check({1, 5, 7, 1, lhs, rhs});
      check({1, 31, 29, 50, lhs, rhs, 3, 5, 7});
      check({6, 16, 24, 40, lhs, rhs});
      check({5, 7, 9, 11, lhs, rhs, 1, 2, 3});
      check({3, 20, 30, 10, lhs, rhs, 0, 0, 0, true});
    }
}

TEST(Matmul, LargeEnoughForBlocks) {
  check({1, 520, 700, 300});
  check({1, 1300, 96, 700});
  for (const Product &p : {Product{1, 700, 520, 300, true, false}, {1, 520, 700, 300, false, true}, {40, 128, 128, 64, false, true}}) {
    checkFloats<float>(p);
    checkFloats<BFloat16>(p);
  }
  checkFloats<double>({1, 700, 520, 300, true, false});
  checkFloats<Float16>({40, 128, 128, 64, false, true});
  checkFloats<float>({1, 70, 130, 16500}); // sums so long that rows are cut
  checkFloats<BFloat16>({1, 70, 130, 16500});
  checkFloats<Float16>({1, 70, 300, 4500, true}); // sums in several chunks
  checkFloats<BFloat16>({1, 300, 70, 4500, false, true, 3, 5, 7});
}

template <typename T> void checkRows() {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{10, 64}, {1, 300}, {33, 129}, {1500, 600}, {130, 17000}})
    for (bool transposed : {false, true})
      for (int64_t m : {1, 2, 3, 7, 16, 65, 200, 1100})
        for (int64_t pad : {0, 24}) {
          if (m * k > 2'000'000 || (sizeof(T) == 2 && (pad == 0 ? m != 7 : m != 65 && m != 1100))) // the rest in f32 alone
            continue;
          Product all{1, m, n, k, false, transposed, pad, 0, pad}, one{1, 1, n, k, false, transposed};
          std::vector<float> lhsFloats = randomFloats(m * all.lhsLd(), 1), rhsFloats = randomFloats(n * k, 2);
          std::vector<T> lhs(lhsFloats.begin(), lhsFloats.end()), rhs(rhsFloats.begin(), rhsFloats.end());
          std::vector<T> out = multiply(all, lhs, rhs);
          for (int64_t row = 0; row < m; row += std::max<int64_t>(m / 3, 1)) {
            auto from = lhs.begin() + row * all.lhsLd(), to = out.begin() + row * all.outLd();
            EXPECT_TRUE(sameBits(std::vector<T>(to, to + n), multiply(one, std::vector<T>(from, from + k), rhs)))
                << "row " << row << " of " << m << ", " << n << " columns, sums of " << k << ", gaps of " << pad;
          }
        }
}

/// A row of the result has the same bits as its product alone, however many rows there are and wherever all lies.
TEST(Matmul, RowsDoNotDependOnEachOther) {
  checkRows<float>();
  checkRows<Float16>();
  checkRows<BFloat16>();
}

/// Terms too small for any number leave their sign, in whole tiles and at their edges.
TEST(Matmul, PackedZerosKeepTheirSign) {
  const MatmulShape shape{1, 7, 19, 2, false, false, 0, 2, 0, 19, 0, 19};
  std::vector<float> lhs(7 * 2, -1e-30f), rhs(2 * 19, 1e-30f), out(7 * 19, 7.0f);
  std::vector<float> space(MatmulPlan(shape, MatmulMethod::Packed, sizeof(float)).partBytes / sizeof(float));
  kernels::multiplyPackedV3(shape, lhs.data(), rhs.data(), out.data(), shape.m, shape.n, space.data());
  for (float sum : out)
    EXPECT_TRUE(sum == 0 && std::signbit(sum));
}

/// The batch is many small products or one large: 1 to 5000 rows, dimensions with rests.
template <typename T> void checkRandomShapes() {
  std::mt19937 generator(5);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[generator() % values.size()];
  };
  for (int i = 0; i < 16; ++i) {
    Product p{pick({1, 1, 3}), pick({1, 2, 5, 17, 64, 255, 257, 1000, 5000}), pick({1, 3, 16, 31, 96}), pick({1, 2, 7, 32, 65, 130}),
              generator() % 2 == 0, generator() % 2 == 0};
    p.lhsPad = pick({0, 0, 1, 8}), p.rhsPad = pick({0, 0, 2, 16}), p.outPad = pick({0, 0, 3, 32});
    checkFloats<T>(p);
  }
}

TEST(Matmul, RandomShapes) {
  checkRandomShapes<float>();
  checkRandomShapes<Float16>();
  checkRandomShapes<BFloat16>();
}

/// What is beyond the largest number of a type is infinite, and sums pass through what is beyond it.
TEST(Matmul, NarrowSumsAreFloat32) {
  Product p{1, 1, 1, 3};
  auto product = [&](float a, float b, float c) {
    return static_cast<float>(multiply<Float16>(p, {a, b, c}, {1000.0f, 1000.0f, 1.0f})[0]);
  };
  EXPECT_EQ(product(100, -100, 3), 3.0f);
  EXPECT_EQ(product(100, 0, 0), INFINITY);
  EXPECT_TRUE(std::isnan(product(NAN, 0, 0)));
  auto wide = [&](float a, float b, float c) {
    return static_cast<float>(multiply<BFloat16>(p, {a, b, c}, {1.0f, 1.0f, 1.0f})[0]);
  };
  EXPECT_EQ(wide(256, 1, 1), 258.0f); // 257 is no bf16
  EXPECT_EQ(wide(INFINITY, 1, 1), INFINITY);
  EXPECT_TRUE(std::isnan(wide(INFINITY, -INFINITY, 1)));
}

/// Counts the items of a kernel.
class Counting : public ParallelFor {
public:
  void run(int64_t count, void (*body)(void *, int64_t, int64_t), void *context) override {
    items = count;
    body(context, 0, count);
  }
  int64_t items = 0;
};

TEST(Matmul, TwoThreadsFindEqualWork) {
  // Products of a GPT of width 256 on 1024 tokens: about one block's work, three blocks' and four, forward and backward.
  for (int64_t n : {256, 768, 1024})
    for (auto [m, columns, k, lhs, rhs] : {std::array<int64_t, 5>{1024, n, 256, 0, 0}, {1024, 256, n, 0, 1}, {256, n, 1024, 1, 0}}) {
      std::vector<float> a(m * k), b(k * columns), out(m * columns);
      std::vector<int64_t> integers{0, 1, m, columns, k, lhs, rhs, 0, lhs ? m : k, 0, rhs ? k : columns, 0, columns};
      auto kernel = prepareKernel("matmul", integers, {}, testOptions());
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      Aligned<char> workspace(kernelWorkspaceBytes("matmul", integers));
      void *pointers[] = {a.data(), b.data(), out.data(), workspace.data()};
      Counting counting;
      EXPECT_OK((*kernel)->run(pointers, counting));
      EXPECT_GE(counting.items, 2) << m << " x " << columns << " x " << k;
      EXPECT_EQ(counting.items % 2, 0) << m << " x " << columns << " x " << k;
    }
}

TEST(Matmul, OneDnnStaysWithinThePlannedWorkspace) {
  // What it takes of other shapes than these is between theirs: blocks of up to 64 columns, 256 rows and 512 or 1024 sums, and where
  // it copies the left side. A kernel whose workspace is too small is refused.
  std::vector<int64_t> sizes{1, 63, 300, 513, 1025, 4096};
  for (int64_t m : sizes)
    for (int64_t n : sizes)
      for (int64_t k : sizes)
        for (int transposed = 0; transposed < 4; ++transposed) {
          Product p{1, m, n, k, transposed % 2 != 0, transposed / 2 != 0};
          for (int64_t element : {0, 3})
            EXPECT_EQ(messageOf(prepareKernel("matmul", p.integers(element), {}, testOptions()).status()), "") << testing::PrintToString(p.integers(element));
        }
  for (int64_t batch : {2, 40})
    for (int64_t size : {1, 64, 200})
      for (int transposed = 0; transposed < 4; ++transposed)
        for (bool shared : {false, true})
          for (int64_t element : {0, 2, 3}) {
            Product p{batch, size, 2 * size, size + 3, transposed % 2 != 0, transposed / 2 != 0, 1, 0, shared ? 5 : 0, shared};
            EXPECT_EQ(messageOf(prepareKernel("matmul", p.integers(element), {}, testOptions()).status()), "") << testing::PrintToString(p.integers(element));
          }
}

TEST(Matmul, MoreThreadsThanPartsOfTheWorkspace) {
  for (const Product &p : {Product{1, 1100, 700, 900, false, false, 3, 0, 0}, {40, 128, 128, 300, false, true, 1, 2, 3}, {1, 900, 800, 1000, true, false}}) {
    std::vector<int64_t> integers = p.integers(0);
    std::vector<float> lhs = randomFloats(p.batch * p.lhsRows() * p.lhsLd(), 1), rhs = randomFloats(p.batch * p.rhsRows() * p.rhsLd(), 2);
    std::vector<float> out = multiply(p, lhs, rhs);
    for (int i = 0; i < 5; ++i)
      EXPECT_TRUE(sameBits(out, multiply(p, lhs, rhs, Threads(24)))) << testing::PrintToString(integers);
  }
}

TEST(Matmul, AProductTakesLittleBesideItsOperands) {
  auto workspace = [](const Product &p, int64_t element) { return kernelWorkspaceBytes("matmul", p.integers(element)); };
  EXPECT_EQ(workspace({1, 64, 64, 0}, 0), 0);    // a product over nothing
  EXPECT_EQ(workspace({1, 64, 64, 64}, 1), 0);   // f64
  EXPECT_LT(workspace({1, 8, 8, 8}, 0), 20 << 10);
  EXPECT_LT(workspace({1, 1024, 1024, 256}, 0), 2 << 20);
  EXPECT_LT(workspace({1, 2048, 2048, 2048, true}, 3), 13 << 20);
  EXPECT_LT(workspace({1, 4096, 4096, 4096}, 2), 13 << 20);
  EXPECT_LT(workspace({1, 1024, 50000, 768, false, true, 4}, 0), 13 << 20); // rows with gaps are copied
}

TEST(OneDnn, ScratchThatThePlanHasNot) {
  EXPECT_OK(kernels::onednn::checkScratch("matmul", 100, 100));
  EXPECT_EQ(kernels::onednn::checkScratch("matmul", 100, 99).message(), "kernel 'matmul': oneDNN takes 100 bytes of scratch, the plan has 99");
}

TEST(Matmul, NoElements) {
  check({1, 0, 5, 3});
  check({1, 5, 0, 3});
  check({0, 5, 4, 3});
  check({2, 5, 4, 0});
  check({1, 5, 4, 0, false, false, 0, 0, 2});
}

TEST(Matmul, Refuses) {
  EXPECT_EQ(runKernel("matmul", {4, 1, 2, 2, 2, 0, 0, 4, 2, 4, 2, 4, 2}, {}, {}).message(),
            "kernel 'matmul': element type i64 is not supported, must be a float");
  EXPECT_EQ(runKernel("matmul", {0, 1, 2, 2, 4, 0, 0, 8, 3, 8, 2, 4, 2}, {}, {}).message(),
            "kernel 'matmul': lhs_ld is 3, must be at least the 4 elements of a row");
  EXPECT_EQ(runKernel("matmul", {0, 1, 2, 2, 4, 0, 1, 8, 4, 8, 3, 4, 2}, {}, {}).message(),
            "kernel 'matmul': rhs_ld is 3, must be at least the 4 elements of a row");
  EXPECT_EQ(runKernel("matmul", {0, 1, 2, 2, 4, 0, 0, 8, 4, 8, 2, 4, 1}, {}, {}).message(),
            "kernel 'matmul': out_ld is 1, must be at least the 2 elements of a row");
  EXPECT_EQ(runKernel("matmul", {0, 2, 2, 2, 4, 0, 0, 8, 4, 8, 2, 3, 2}, {}, {}).message(),
            "kernel 'matmul': out_batch_stride is 3, must be at least the 4 elements of a matrix");
  check({1, 2, 2, 2}); // decides this process's variant
  KernelOptions other{testVariant() == CpuVariant::X86_64_V3 ? CpuVariant::X86_64_V4 : CpuVariant::X86_64_V3, false};
  std::vector<int64_t> integers{0, 1, 2, 2, 2, 0, 0, 4, 2, 4, 2, 4, 2};
  EXPECT_EQ(prepareKernel("matmul", integers, {}, other).status().message(),
            "oneDNN runs one instruction-set variant in a process, asked for two");
}

} // namespace
