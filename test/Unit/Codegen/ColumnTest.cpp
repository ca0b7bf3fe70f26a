//===- ColumnTest.cpp - Generated kernels that reduce over rows -----------===//
#include "KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace zero::test;

namespace {

TEST(ColumnKernels, BiasGradient) {
  for (int64_t rows : {2, 33, 100})
    for (int64_t columns : {2, 16, 65, 5000}) {
      SCOPED_TRACE(llvm::formatv("{0} x {1}", rows, columns).str());
      Program program(llvm::formatv(R"(func.func @f(%x: tensor<{0}x{1}xf32>) -> tensor<{1}xf32> {{
        %0 = nn.reduce sum %x axes [0] : tensor<{0}x{1}xf32> to tensor<{1}xf32>
        return %0 : tensor<{1}xf32>
      })",
                                    rows, columns)
                          .str());
      EXPECT_EQ(program.getItems(0), (columns + 63) / 64);
      program.check({.absolute = 1e-5});
    }
}

// The gradient of the activation and that of the bias below it, in one kernel.
TEST(ColumnKernels, WholeResultBesideTheSum) {
  for (int64_t columns : {16, 40, 200}) {
    SCOPED_TRACE(columns);
    Program program(
        llvm::formatv(R"(func.func @f(%x: tensor<3x11x{0}xf32>, %g: tensor<3x11x{0}xf32>, %b: tensor<{0}xf32>)
        -> (tensor<33x{0}xf32>, tensor<{0}xf32>) {{
      %bb = nn.broadcast %b dims [2] : tensor<{0}xf32> to tensor<3x11x{0}xf32>
      %0 = nn.add %x, %bb : tensor<3x11x{0}xf32>
      %1 = nn.tanh %0 : tensor<3x11x{0}xf32>
      %2 = nn.mul %1, %g : tensor<3x11x{0}xf32>
      %3 = nn.reduce sum %2 axes [0, 1] : tensor<3x11x{0}xf32> to tensor<{0}xf32>
      %4 = nn.reshape %2 : tensor<3x11x{0}xf32> to tensor<33x{0}xf32>
      return %4, %3 : tensor<33x{0}xf32>, tensor<{0}xf32>
    })",
                      columns)
            .str());
    EXPECT_EQ(program.countKernels(), 1);
    program.check({.absolute = 1e-5});
  }
}

TEST(ColumnKernels, MiddleAxis) {
  Program program(R"(func.func @f(%x: tensor<3x40x70xf32>, %y: tensor<3x70xf32>) -> tensor<3x70xf32> {
    %0 = nn.reduce max %x axes [1] : tensor<3x40x70xf32> to tensor<3x70xf32>
    %1 = nn.sub %0, %y : tensor<3x70xf32>
    return %1 : tensor<3x70xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  EXPECT_EQ(program.getItems(0), 6);
  program.check();
}

TEST(ColumnKernels, SeparateAxes) {
  Program program(R"(func.func @f(%x: tensor<5x6x7x8xf32>) -> tensor<6x8xf32> {
    %0 = nn.reduce sum %x axes [0, 2] : tensor<5x6x7x8xf32> to tensor<6x8xf32>
    return %0 : tensor<6x8xf32>
  })");
  EXPECT_EQ(program.countKernels(), 2);
  program.check({.absolute = 1e-5});
}

TEST(ColumnKernels, Integers) {
  Program program(R"(func.func @f(%x: tensor<50x30xi64>) -> tensor<30xi64> {
    %0 = nn.reduce sum %x axes [0] : tensor<50x30xi64> to tensor<30xi64>
    return %0 : tensor<30xi64>
  })");
  program.check();
}

} // namespace
