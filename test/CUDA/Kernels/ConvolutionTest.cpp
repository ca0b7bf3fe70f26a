//===- ConvolutionTest.cpp - conv, conv_transpose and conv_weight_grad ----===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "zero/Runtime/Kernels/ConvolutionSizes.h"

using namespace zero;
using namespace zero::test;

namespace {

/// Largest difference over the largest result: sums in another order, rounded once.
constexpr double kTolerance[] = {5e-6, 1e-13, 1e-3, 8e-3};

void addCases(Numbers &numbers, std::vector<Case> &cases, const std::vector<int64_t> &integers) {
  ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
  int64_t element = shape.element;
  auto data = static_cast<uint64_t>(shape.dataElements()), kernel = static_cast<uint64_t>(shape.kernelElements()),
       out = static_cast<uint64_t>(shape.outElements());
  Bytes dataBytes = numbers.elements(element, data), kernelBytes = numbers.elements(element, kernel), outBytes = numbers.elements(element, out);
  double tolerance = kTolerance[element];
  cases.push_back({"conv", integers, {}, {dataBytes, kernelBytes}, {{element, out, tolerance}}});
  cases.push_back({"conv_transpose", integers, {}, {outBytes, kernelBytes}, {{element, data, tolerance}}});
  cases.push_back({"conv_weight_grad", integers, {}, {dataBytes, outBytes}, {{element, kernel, tolerance}}});
}

TEST(CudaConvolution, Fixed) {
  Numbers numbers(1);
  std::vector<Case> cases;
  addCases(numbers, cases, {F32, 2, 3, 16, 1, 2, 20, 18, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {F32, 2, 16, 70, 1, 2, 12, 12, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {F32, 3, 12, 12, 12, 2, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}); // depthwise
  addCases(numbers, cases, {F32, 4, 8, 8, 1, 2, 24, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});  // a long sum, in ranges
  addCases(numbers, cases, {BF16, 2, 16, 16, 2, 2, 10, 10, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {F16, 2, 8, 16, 1, 1, 30, 5, 2, 2, 2, 1});
  addCases(numbers, cases, {F64, 2, 8, 8, 1, 3, 5, 6, 7, 2, 3, 3, 1, 1, 2, 0, 1, 1, 1, 1, 0, 1, 2, 1});
  expectSameOnDevice(cases);
}

TEST(CudaConvolution, Random) {
  Numbers numbers(2);
  std::vector<Case> cases;
  for (int i = 0; i < 8; ++i) {
    int64_t groups = numbers.between(1, 3), rank = numbers.between(1, 3);
    std::vector<int64_t> integers = {numbers.between(F32, BF16), numbers.between(1, 3), groups * numbers.between(1, 10), groups * numbers.between(1, 12), groups, rank};
    std::vector<int64_t> spatial, window, strides, low, high, dilations;
    for (int64_t j = 0; j < rank; ++j) {
      window.push_back(numbers.between(1, 3));
      dilations.push_back(numbers.between(1, 2));
      strides.push_back(numbers.between(1, 3));
      spatial.push_back(numbers.between(5, 9));
      low.push_back(numbers.between(0, 2));
      high.push_back(numbers.between(0, 2));
    }
    for (const auto *list : {&spatial, &window, &strides, &low, &high, &dilations})
      integers.insert(integers.end(), list->begin(), list->end());
    addCases(numbers, cases, integers);
  }
  expectSameOnDevice(cases);
}

TEST(CudaConvolution, OverNothing) {
  Numbers numbers(3);
  std::vector<Case> cases;
  addCases(numbers, cases, {F32, 0, 3, 4, 1, 1, 9, 3, 1, 0, 0, 1});
  addCases(numbers, cases, {F32, 2, 3, 4, 1, 1, 2, 5, 1, 0, 0, 1}); // the window fits nowhere
  expectSameOnDevice(cases);
}

TEST(CudaConvolution, Refuses) {
  auto message = [](std::vector<int64_t> integers) { return planCudaLaunches("conv", integers, {}, {}).status().message(); };
  EXPECT_EQ(message({F32, 1, 3, 4, 2, 1, 9, 3, 1, 0, 0, 1}), "kernel 'conv': 3 channels and 4 filters do not divide into 2 groups");
  EXPECT_EQ(message({F32, 1, 3, 4, 1, 1, 9, 3, 0, 0, 0, 1}), "kernel 'conv': stride is 0, must be at least 1");
  EXPECT_EQ(message({I32, 1, 3, 4, 1, 1, 9, 3, 1, 0, 0, 1}), "kernel 'conv': element type i32 is not supported, must be a float");
  EXPECT_EQ(message({F32, 1, 3, 4, 1, 4, 9, 3, 1, 0, 0, 1}), "kernel 'conv': rank is 4, outside [1, 3]");
}

} // namespace
