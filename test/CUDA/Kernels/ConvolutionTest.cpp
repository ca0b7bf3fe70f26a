//===- ConvolutionTest.cpp - conv, conv_transpose and conv_weight_grad ----===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "test/CUDA/Support/CompileText.h"
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

/// Kernels of our own, and cuDNN where it has an engine.
class CudaConvolution : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (GetParam() && !findCudnn().ok())
      GTEST_SKIP() << findCudnn().status().message();
  }
  static CudaOptions options() {
    CudaOptions options = smallWorkspace();
    options.cudnnConvolutions = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(By, CudaConvolution, ::testing::Bool(), [](const auto &info) { return info.param ? "Cudnn" : "Generated"; });

TEST_P(CudaConvolution, Fixed) {
  Numbers numbers(1);
  std::vector<Case> cases;
  addCases(numbers, cases, {F32, 2, 3, 16, 1, 2, 20, 18, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {F32, 2, 16, 70, 1, 2, 12, 12, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {F32, 3, 12, 12, 12, 2, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}); // depthwise
  addCases(numbers, cases, {F32, 4, 8, 8, 1, 2, 24, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});  // a long sum, in ranges
  addCases(numbers, cases, {BF16, 2, 16, 16, 2, 2, 10, 10, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {F16, 2, 8, 16, 1, 1, 30, 5, 2, 2, 2, 1});
  addCases(numbers, cases, {F64, 2, 8, 8, 1, 3, 5, 6, 7, 2, 3, 3, 1, 1, 2, 0, 1, 1, 1, 1, 0, 1, 2, 1});
  expectSameOnDevice(cases, options());
}

TEST_P(CudaConvolution, Random) {
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
  expectSameOnDevice(cases, options());
}

TEST_P(CudaConvolution, Misaligned) {
  Numbers numbers(6);
  std::vector<Case> cases;
  addCases(numbers, cases, {F32, 2, 8, 16, 1, 2, 12, 10, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  addCases(numbers, cases, {BF16, 2, 8, 16, 1, 2, 12, 10, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  for (Case &one : cases)
    one.misaligned = bytesOf(one.integers[0]);
  expectSameOnDevice(cases, options());
}

TEST_P(CudaConvolution, OverNothing) {
  Numbers numbers(3);
  std::vector<Case> cases;
  addCases(numbers, cases, {F32, 0, 3, 4, 1, 1, 9, 3, 1, 0, 0, 1});
  addCases(numbers, cases, {F32, 2, 3, 4, 1, 1, 2, 5, 1, 0, 0, 1}); // the window fits nowhere
  expectSameOnDevice(cases, options());
}

/// Which engines are taken, of those that the simulated library ranks (test/CUDA/Shim/CudnnEngines.cpp).
class CudnnConvolution : public ::testing::Test {
protected:
  void SetUp() override {
    if (!isSimulated())
      GTEST_SKIP() << "no simulated device";
    options = smallWorkspace();
    options.cudnnConvolutions = true;
  }
  /// What was told of the three kinds, whose results are right in any case.
  std::vector<std::string> algorithms(int64_t element) {
    Numbers numbers(4);
    std::vector<Case> cases;
    addCases(numbers, cases, {element, 4, 8, 8, 1, 2, 6, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
    std::vector<std::string> texts;
    for (const DeviceResult &result : runOnDevice(cases, options))
      texts.push_back(result.algorithm);
    return texts;
  }
  static std::vector<std::string> each(const std::string &text) { return std::vector<std::string>(3, text); }
  /// One of them ranks first and wants more than there is.
  static constexpr const char *kBehind = " (those ranked before it: at least 67112960)";

  CudaOptions options;
};

TEST_F(CudnnConvolution, TakesWhatIsAllowed) {
  EXPECT_EQ(algorithms(F32), each(std::string("cudnn engine 110, 512 bytes of workspace") + kBehind));
  for (int64_t element : {F64, F16, BF16})
    EXPECT_EQ(algorithms(element), each(std::string("cudnn engine 109 on tensor cores, 4096 bytes of workspace") + kBehind));
  options.tf32 = true;
  EXPECT_EQ(algorithms(F32), each(std::string("cudnn engine 109 on tensor cores, 4096 bytes of workspace") + kBehind));
  options.fast = true;
  EXPECT_EQ(algorithms(F32), each("cudnn engine 101 adding in any order, 0 bytes of workspace"));
}

TEST_F(CudnnConvolution, PrefersWhatIsCompiled) {
  setenv("ZERO_SHIM_CUDNN_ENGINES", "107,0", 1);
  EXPECT_EQ(algorithms(F32), each("cudnn engine 107, 0 bytes of workspace")); // in its own list the last, but ahead of the fallback
  unsetenv("ZERO_SHIM_CUDNN_ENGINES");
}

TEST_F(CudnnConvolution, KeepsToTheWorkspace) {
  options.workspaceBytes = 600;
  EXPECT_EQ(algorithms(BF16), each("cudnn engine 110, 512 bytes of workspace (those ranked before it: at least 4096)"));
  setenv("ZERO_SHIM_CUDNN_ENGINES", "102,109,0", 1);
  EXPECT_EQ(algorithms(BF16), each("cudnn engine 0, 0 bytes of workspace (those ranked before it: at least 4096)"));
  setenv("ZERO_SHIM_CUDNN_ENGINES", "102,109", 1);
  EXPECT_EQ(algorithms(BF16), each("generated: cuDNN has no engine: of 2 engine configurations 2 take more than 600 bytes of workspace (at least 4096)"));
  unsetenv("ZERO_SHIM_CUDNN_ENGINES");
}

TEST_F(CudnnConvolution, SaysWhyThereIsNone) {
  setenv("ZERO_SHIM_CUDNN_ENGINES", "1,101,103,105,106,108,109", 1);
  EXPECT_EQ(algorithms(F32), each("generated: cuDNN has no engine: of 7 engine configurations 2 add in any order, 1 do not build, 2 round float32 to TF32, "
                                  "1 transform by FFT, 1 transform by Winograd's method: CUDNN_STATUS_NOT_SUPPORTED (engine 108 does not build)"));
  setenv("ZERO_SHIM_CUDNN_ENGINES", "104", 1);
  EXPECT_EQ(algorithms(BF16), each("generated: cuDNN has no engine: of 1 engine configurations 1 round partial sums"));
  options.tf32 = true;
  setenv("ZERO_SHIM_CUDNN_ENGINES", "103", 1);
  EXPECT_EQ(algorithms(F32), each("generated: cuDNN has no engine: of 1 engine configurations 1 round their operands to a narrower type"));
  setenv("ZERO_SHIM_CUDNN_ENGINES", "7", 1);
  EXPECT_EQ(algorithms(F32), each("generated: cuDNN has no engine: there is none of any kind"));
  unsetenv("ZERO_SHIM_CUDNN_ENGINES");
}

TEST_F(CudnnConvolution, TF32RoundsItsOperands) {
  Numbers numbers(5);
  Case one = {"conv", {F32, 2, 8, 8, 1, 2, 6, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {}, {numbers.elements(F32, 576), numbers.elements(F32, 576)}, {{F32, 576, 2e-3}}};
  std::vector<DeviceResult> exact = runOnDevice({one}, options);
  options.tf32 = true;
  std::vector<DeviceResult> rounded = runOnDevice({one}, options);
  ASSERT_EQ(rounded.size() + exact.size(), 2u);
  EXPECT_NE(rounded[0].writes[0], exact[0].writes[0]);
  expectSameOnDevice({one}, options);
}

/// Of the calls for the first of three convolutions.
TEST_F(CudnnConvolution, WhatItDoesNotDoIsLeftToOurs) {
  auto failing = [&](const char *call) {
    setenv("ZERO_SHIM_FAIL", call, 1);
    std::vector<std::string> texts = algorithms(F64);
    unsetenv("ZERO_SHIM_FAIL");
    EXPECT_EQ(texts.size(), 3u);
    texts.resize(3);
    EXPECT_EQ(texts[1], std::string("cudnn engine 109 on tensor cores, 4096 bytes of workspace") + kBehind);
    return texts[0];
  };
  EXPECT_EQ(failing("cudnnBackendFinalize:1"), "generated: cuDNN has no engine: CUDNN_STATUS_NOT_SUPPORTED (injected)"); // a tensor
  EXPECT_EQ(failing("cudnnBackendFinalize:5"), "generated: cuDNN has no engine: CUDNN_STATUS_NOT_SUPPORTED (injected)"); // the operation
  EXPECT_EQ(failing("cudnnBackendFinalize:7"), "cudnn engine 0, 0 bytes of workspace");                                   // heuristics
}

TEST_F(CudnnConvolution, FaultsEndIt) {
  auto module = compileText(*device(), {}, {"extern \"C\" __global__ void none() {}"});
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto prepare = [&](size_t pointers, const char *failing) {
    if (*failing)
      setenv("ZERO_SHIM_FAIL", failing, 1);
    const std::vector<int64_t> integers = {F32, 1, 1, 1, 1, 1, 9, 3, 1, 0, 0, 1};
    Status status = prepareCudaKernel("conv", integers, {}, std::vector<void *>(pointers), options, {*device(), **module, nullptr, 0}).status();
    unsetenv("ZERO_SHIM_FAIL");
    return status.ok() ? "" : status.message();
  };
  const std::string advice = "; with zero-compile --cuda-convolutions=generated kernels of the program compute convolutions";
  EXPECT_EQ(prepare(3, ""), "kernel 'conv': takes 4 pointers, got 3");
  EXPECT_EQ(prepare(4, "cudnnCreate:1"), "cudnnCreate: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED" + advice);
  EXPECT_EQ(prepare(4, "cudnnBackendCreateDescriptor:1"), "cudnnBackendCreateDescriptor: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED" + advice);
}

TEST(CudaConvolutionShape, Refuses) {
  auto message = [](std::vector<int64_t> integers) { return planCudaLaunches("conv", integers, {}, {}).status().message(); };
  EXPECT_EQ(message({F32, 1, 3, 4, 2, 1, 9, 3, 1, 0, 0, 1}), "kernel 'conv': 3 channels and 4 filters do not divide into 2 groups");
  EXPECT_EQ(message({F32, 1, 3, 4, 1, 1, 9, 3, 0, 0, 0, 1}), "kernel 'conv': stride is 0, must be at least 1");
  EXPECT_EQ(message({I32, 1, 3, 4, 1, 1, 9, 3, 1, 0, 0, 1}), "kernel 'conv': element type i32 is not supported, must be a float");
  EXPECT_EQ(message({F32, 1, 3, 4, 1, 4, 9, 3, 1, 0, 0, 1}), "kernel 'conv': rank is 4, outside [1, 3]");
}

} // namespace
