//===- RowTest.cpp - Generated kernels with reductions --------------------===//
#include "KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace zero::test;

namespace {

const int64_t kSizes[] = {1, 3, 15, 16, 17, 63, 64, 65, 130, 1000};

std::string format(const char *text, int64_t a, int64_t b) { return llvm::formatv(text, a, b).str(); }

TEST(RowKernels, Softmax) {
  for (int64_t size : kSizes) {
    Program program(format(R"(func.func @f(%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %0 = nn.softmax %x axis 1 : tensor<{0}x{1}xf32>
      return %0 : tensor<{0}x{1}xf32>
    })", 5, size));
    EXPECT_EQ(program.countKernels(), 1);
    EXPECT_EQ(program.getItems(0), size == 1 ? 1 : 5);
    program.check({.low = -20, .high = 20});
  }
}

TEST(RowKernels, LayerNorm) {
  for (int64_t size : kSizes) {
    Program program(format(R"(func.func @f(%x: tensor<2x3x{1}xf32>, %s: tensor<{1}xf32>, %b: tensor<{1}xf32>)
        -> (tensor<2x3x{1}xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {{
      %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5
        : tensor<2x3x{1}xf32>, tensor<{1}xf32>, tensor<{1}xf32> -> tensor<2x3x{1}xf32>, tensor<2x3xf32>, tensor<2x3xf32>
      return %0#0, %0#1, %0#2 : tensor<2x3x{1}xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    })", 0, size));
    EXPECT_EQ(program.countKernels(), 1);
    program.check({.relative = 2e-5, .absolute = 1e-5});
  }
}

} // namespace
