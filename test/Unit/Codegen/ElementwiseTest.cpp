//===- ElementwiseTest.cpp - Generated kernels without reductions ---------===//
#include "KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace zero::test;

namespace {
const int64_t kSizes[] = {0, 1, 3, 15, 16, 17, 63, 64, 65, 1000};

TEST(Elementwise, UnaryFunctions) {
  for (const char *name : {"neg", "abs", "exp", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "erf", "sin", "cos", "relu", "sign",
                           "floor", "ceil", "round", "log"}) {
    SCOPED_TRACE(name);
    Program program(llvm::formatv(R"(func.func @f(%x: tensor<1000xf32>) -> tensor<1000xf32> {{
      %0 = nn.{0} %x : tensor<1000xf32>
      return %0 : tensor<1000xf32>
    })", name).str());
    program.check({.low = -9, .high = 9, .relative = 5e-7, .absolute = 1e-7});
  }
}

TEST(Elementwise, Sizes) {
  for (int64_t size : kSizes) {
    SCOPED_TRACE(size);
    Program program(llvm::formatv(R"(func.func @f(%x: tensor<{0}xf32>, %y: tensor<{0}xf32>) -> (tensor<{0}xf32>, tensor<{0}xi1>) {{
      %0 = nn.mul %x, %y : tensor<{0}xf32>
      %1 = nn.compare lt %0, %y : tensor<{0}xf32> -> tensor<{0}xi1>
      %2 = nn.select %1, %x, %0 : tensor<{0}xi1>, tensor<{0}xf32>
      return %2, %1 : tensor<{0}xf32>, tensor<{0}xi1>
    })", size).str());
    if (size)
      EXPECT_EQ(program.countKernels(), 1);
    program.check();
  }
}
} // namespace
