//===- MatmulTest.cpp - Products by cuBLASLt ------------------------------===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "test/CUDA/Support/CompileText.h"

using namespace zero;
using namespace zero::test;

namespace {

/// Largest difference over the largest result: sums of k products in another order, then one rounding.
constexpr double kTolerance[] = {2e-6, 1e-14, 1e-3, 8e-3};

struct Matrix {
  int64_t rows, columns, ld, batchStride;
  uint64_t elements(int64_t batch) const { return static_cast<uint64_t>((batch - 1) * batchStride + (rows - 1) * ld + columns); }
};
Matrix stored(Numbers &numbers, int64_t rows, int64_t columns, bool isTransposed, bool isShared) {
  if (isTransposed)
    std::swap(rows, columns);
  int64_t ld = columns + (numbers.coin() ? numbers.between(0, 5) : 0);
  return {rows, columns, ld, isShared ? 0 : rows * ld + (numbers.coin() ? 8 : 0)};
}

Case product(Numbers &numbers, int64_t element, int64_t batch, int64_t m, int64_t n, int64_t k) {
  bool transposeLhs = numbers.coin(), transposeRhs = numbers.coin();
  Matrix lhs = stored(numbers, m, k, transposeLhs, numbers.coin()), rhs = stored(numbers, k, n, transposeRhs, numbers.coin());
  Matrix out{m, n, n, m * n}; // dense: nothing between its rows is compared
  return {"matmul",
          {element, batch, m, n, k, transposeLhs, transposeRhs, lhs.batchStride, lhs.ld, rhs.batchStride, rhs.ld, out.batchStride, out.ld},
          {},
          {numbers.elements(element, lhs.elements(batch)), numbers.elements(element, rhs.elements(batch))},
          {{element, out.elements(batch), kTolerance[element]}}};
}

TEST(CudaMatmul, Layouts) {
  Numbers numbers(1);
  std::vector<Case> cases;
  for (int64_t element : {F32, F64, F16, BF16}) {
    cases.push_back(product(numbers, element, 1, 1, 1, 1));
    cases.push_back(product(numbers, element, 1, 64, 64, 64));
    for (int i = 0; i < 12; ++i) {
      int64_t m = numbers.between(1, 70), n = numbers.between(1, 70), k = numbers.between(1, 200);
      cases.push_back(product(numbers, element, numbers.coin() ? 1 : numbers.between(2, 5), m, n, k));
      cases.back().misaligned = numbers.coin() ? bytesOf(element) : 0;
    }
  }
  expectSameOnDevice(cases, smallWorkspace());
}

TEST(CudaMatmul, OverNothing) {
  Numbers numbers(5);
  std::vector<Case> cases = {{"matmul", {F32, 2, 3, 5, 0, 0, 0, 0, 0, 0, 5, 15, 5}, {}, {Bytes(), Bytes()}, {{F32, 30}}},
                             {"matmul", {F64, 1, 0, 5, 2, 0, 0, 0, 2, 0, 5, 0, 5}, {}, {Bytes(), numbers.elements(F64, 10)}, {{F64, 0}}}};
  expectSameOnDevice(cases);
}

TEST(CudaMatmul, GapsOfTheResultStay) {
  if (!device())
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  Numbers numbers(2);
  Bytes lhs = numbers.elements(F32, 12), rhs = numbers.elements(F32, 20);
  std::vector<Case> cases = {{"matmul", {F32, 1, 3, 5, 4, 0, 0, 0, 4, 0, 5, 0, 8}, {}, {lhs, rhs}, {{F32, 24}}}};
  std::vector<DeviceResult> results = runOnDevice(cases, smallWorkspace());
  ASSERT_EQ(results.size(), 1u);
  std::vector<double> a = numbersOf(F32, lhs), b = numbersOf(F32, rhs), out = numbersOf(F32, results[0].writes[0]);
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (size_t k = 0; j < 5 && k < 4; ++k)
        sum += a[i * 4 + k] * b[k * 5 + j];
      if (j < 5)
        EXPECT_NEAR(out[i * 8 + j], sum, 1e-6);
      else
        EXPECT_EQ(results[0].writes[0][(i * 8 + j) * 4], std::byte{0xa7});
    }
}

TEST(CudaMatmul, TF32RoundsItsOperands) {
  if (!device())
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  Numbers numbers(3);
  Case one = {"matmul", {F32, 1, 48, 48, 64, 0, 0, 0, 64, 0, 48, 0, 48}, {}, {numbers.elements(F32, 48 * 64), numbers.elements(F32, 64 * 48)}, {{F32, 48 * 48, 2e-3}}};
  CudaOptions options = smallWorkspace();
  options.tf32 = true;
  std::vector<DeviceResult> rounded = runOnDevice({one}, options), exact = runOnDevice({one}, smallWorkspace());
  ASSERT_EQ(rounded.size() + exact.size(), 2u);
  EXPECT_NE(rounded[0].writes[0], exact[0].writes[0]);
  expectSameOnDevice({one}, options);
}

TEST(CudaMatmul, WithoutWorkspace) {
  Numbers numbers(4);
  CudaOptions options;
  options.workspaceBytes = 0;
  expectSameOnDevice({product(numbers, F32, 1, 17, 18, 19)}, options);
}

TEST(CudaMatmul, Refuses) {
  CudaOptions options;
  if (StreamDevice *gpu = device()) {
    auto module = compileText(*gpu, {}, {"extern \"C\" __global__ void none() {}"});
    ASSERT_TRUE(module.ok()) << module.status().message();
    auto prepare = [&](std::vector<int64_t> integers, std::vector<void *> pointers) {
      return prepareCudaKernel("matmul", integers, {}, pointers, options, {*gpu, **module, nullptr, 0}).status().message();
    };
    EXPECT_EQ(prepare({F32, 1, 2, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2}, {nullptr, nullptr, nullptr}), "kernel 'matmul': takes 4 pointers, got 3");
    EXPECT_EQ(prepare({F32, int64_t{1} << 33, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1}, std::vector<void *>(4)),
              "matmul: a batch of 8589934592 is more than cuBLASLt takes");
  }
  auto message = [&](std::vector<int64_t> integers) { return planCudaLaunches("matmul", integers, {}, options).status().message(); };
  EXPECT_EQ(message({I32, 1, 2, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2}), "kernel 'matmul': element type i32 is not supported, must be a float");
  EXPECT_EQ(message({F32, 1, 2, 2, 2, 0, 0, 0, 1, 0, 2, 0, 2}), "kernel 'matmul': lhs_ld is 1, must be at least the 2 elements of a row");
  EXPECT_EQ(message({F32, 3, 2, 2, 2, 0, 0, 0, 2, 0, 2, 3, 2}),
            "kernel 'matmul': out_batch_stride is 3, must be at least the 4 elements of a matrix");
  EXPECT_EQ(message({F32}), "kernel 'matmul': takes 13 integers, got 1");
}

} // namespace
