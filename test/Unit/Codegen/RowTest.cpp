//===- RowTest.cpp - Generated kernels with reductions --------------------===//
#include "KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <limits>

using namespace zero::test;

namespace {

const int64_t kSizes[] = {1, 3, 15, 16, 17, 63, 64, 65, 130, 1000};

std::string format(const char *text, int64_t size) { return llvm::formatv(text, size).str(); }

const char *const kSoftmax = R"(func.func @f(%x: tensor<5x{0}xf32>) -> tensor<5x{0}xf32> {{
  %0 = nn.softmax %x axis 1 : tensor<5x{0}xf32>
  return %0 : tensor<5x{0}xf32>
})";

const char *const kLayerNorm =
    R"(func.func @f(%x: tensor<2x3x{0}xf32>, %s: tensor<{0}xf32>, %b: tensor<{0}xf32>)
    -> (tensor<2x3x{0}xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {{
  %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5
    : tensor<2x3x{0}xf32>, tensor<{0}xf32>, tensor<{0}xf32> -> tensor<2x3x{0}xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  return %0#0, %0#1, %0#2 : tensor<2x3x{0}xf32>, tensor<2x3xf32>, tensor<2x3xf32>
})";

const char *const kCrossEntropy = R"(func.func @f(%x: tensor<4x7x{0}xf32>, %y: tensor<4x7xi64>)
    -> (tensor<f32>, tensor<i64>, tensor<4x7xf32>) {{
  %0:3 = nn.cross_entropy %x, %y : tensor<4x7x{0}xf32>, tensor<4x7xi64> -> tensor<f32>, tensor<i64>, tensor<4x7xf32>
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<i64>, tensor<4x7xf32>
})";

TEST(RowKernels, Softmax) {
  for (int64_t size : kSizes) {
    SCOPED_TRACE(size);
    Program program(format(kSoftmax, size));
    EXPECT_EQ(program.countKernels(), 1);
    EXPECT_EQ(program.getItems(0), size == 1 ? 1 : 5);
    program.check({.low = -20, .high = 20});
  }
}

// Rows whose exponentials do not fit the stack are computed twice.
TEST(RowKernels, LongRows) {
  Program program(R"(func.func @f(%x: tensor<2x70001xf32>) -> tensor<2x70001xf32> {
    %0 = nn.softmax %x axis 1 : tensor<2x70001xf32>
    return %0 : tensor<2x70001xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  program.check({.absolute = 1e-9});
}

TEST(RowKernels, UnitDimensions) {
  Program program(
      R"(func.func @f(%x: tensor<3x1x20xf32>) -> (tensor<3x20xf32>, tensor<3x1xf32>, tensor<1xf32>) {
    %0 = nn.reduce max %x axes [1] : tensor<3x1x20xf32> to tensor<3x20xf32>
    %1 = nn.tanh %0 : tensor<3x20xf32>
    %2 = nn.reshape %1 : tensor<3x20xf32> to tensor<3x1x20x1xf32>
    %3 = nn.reduce sum %2 axes [2, 3] : tensor<3x1x20x1xf32> to tensor<3x1xf32>
    %4 = nn.reduce sum %3 axes [0] : tensor<3x1xf32> to tensor<1xf32>
    return %1, %3, %4 : tensor<3x20xf32>, tensor<3x1xf32>, tensor<1xf32>
  })");
  program.check();
}

TEST(RowKernels, SoftmaxOfInfinitiesAndNaN) {
  const double infinity = std::numeric_limits<double>::infinity();
  Program program(format(kSoftmax, 20));
  std::vector<double> values(100, 1.0);
  values[3] = -infinity;                                 // masked
  std::fill_n(values.begin() + 20, 20, -infinity);       // a row of masked elements only
  values[47] = std::numeric_limits<double>::quiet_NaN(); // in the first vector
  values[79] = std::numeric_limits<double>::quiet_NaN(); // in the tail
  program.check({.values = {{0, values}}});
}

TEST(RowKernels, SoftmaxGradient) {
  for (int64_t size : {3, 65, 200}) {
    SCOPED_TRACE(size);
    Program program(format(kSoftmax, size), /*addGradients=*/true);
    program.check({.absolute = 2e-6});
  }
}

TEST(RowKernels, LayerNorm) {
  for (int64_t size : kSizes) {
    SCOPED_TRACE(size);
    Program program(format(kLayerNorm, size));
    EXPECT_EQ(program.countKernels(), 1);
    // With one or three elements a row's variance may be far below its mean.
    program.check({.relative = 1e-4, .absolute = 1e-5});
  }
}

TEST(RowKernels, LayerNormGradient) {
  for (int64_t size : kSizes) {
    SCOPED_TRACE(size);
    Program program(format(kLayerNorm, size), /*addGradients=*/true);
    program.check({.relative = 1e-3, .absolute = 1e-4});
  }
}

TEST(RowKernels, CrossEntropy) {
  for (int64_t size : {10, 16, 100, 5000}) {
    SCOPED_TRACE(size);
    Program program(format(kCrossEntropy, size));
    EXPECT_LE(program.countKernels(), 3);
    Options options{.low = -5, .high = 5};
    for (int64_t i = 0; i < 28; ++i)
      options.values[1].push_back(i % 5 == 3 ? -100.0 : double(i * 37 % size));
    program.check(options);
  }
}

TEST(RowKernels, CrossEntropyGradient) {
  for (int64_t size : {10, 100}) {
    SCOPED_TRACE(size);
    Program program(format(kCrossEntropy, size), /*addGradients=*/true);
    Options options{.low = -5, .high = 5};
    for (int64_t i = 0; i < 28; ++i)
      options.values[1].push_back(i % 5 == 3 ? -100.0 : double(i * 37 % size));
    program.check(options);
  }
}

TEST(RowKernels, MeanSquareError) {
  for (int64_t size : {1, 17, 1000}) {
    SCOPED_TRACE(size);
    const char *text = R"(func.func @f(%x: tensor<3x{0}xf32>, %y: tensor<3x{0}xf32>) -> tensor<f32> {{
      %0:2 = nn.mse_loss %x, %y : tensor<3x{0}xf32>, tensor<3x{0}xf32> -> tensor<f32>, tensor<i64>
      return %0#0 : tensor<f32>
    })";
    Program(format(text, size)).check();
    Program(format(text, size), /*addGradients=*/true).check();
  }
}

TEST(RowKernels, ReductionKinds) {
  for (const char *element : {"f32", "f64", "i64", "i32", "i8", "ui8", "ui16", "ui32", "ui64"})
    for (int64_t size : {16, 50, 130}) {
      SCOPED_TRACE(llvm::formatv("{0} {1}", element, size).str());
      std::string body;
      for (const char *kind : {"sum", "max", "min", "prod"})
        body += llvm::formatv("  %{0} = nn.reduce {0} %x axes [1] : tensor<3x{2}x{1}> to tensor<3x{1}>\n",
                              kind, element, size)
                    .str();
      Program program(
          llvm::formatv(
              R"(func.func @f(%x: tensor<3x{1}x{0}>) -> (tensor<3x{0}>, tensor<3x{0}>, tensor<3x{0}>, tensor<3x{0}>) {{
        {2}
        return %sum, %max, %min, %prod : tensor<3x{0}>, tensor<3x{0}>, tensor<3x{0}>, tensor<3x{0}>
      })",
              element, size, body)
              .str());
      EXPECT_EQ(program.countKernels(), 1);
      program.check({.low = 0.5, .high = 1.5, .lowInt = 1, .highInt = 3});
    }
}

TEST(RowKernels, ReductionsOfNothing) {
  for (const char *kind : {"sum", "max", "min", "prod"}) {
    Program program(llvm::formatv(R"(func.func @f(%x: tensor<3x0xf32>) -> tensor<3xf32> {{
      %0 = nn.reduce {0} %x axes [1] : tensor<3x0xf32> to tensor<3xf32>
      return %0 : tensor<3xf32>
    })",
                                  kind)
                        .str());
    program.check();
  }
}

// Scores of attention with a causal mask in closed form: the mask's rows repeat over the batch.
TEST(RowKernels, MaskedSoftmax) {
  Program program(R"(func.func @f(%x: tensor<2x3x20x20xf32>, %m: tensor<20x20xf32>) -> tensor<2x3x20x20xf32> {
    %i = nn.iota axis 0 : tensor<20x20xi64>
    %j = nn.iota axis 1 : tensor<20x20xi64>
    %c = nn.compare le %j, %i : tensor<20x20xi64> -> tensor<20x20xi1>
    %b = nn.broadcast %c dims [2, 3] : tensor<20x20xi1> to tensor<2x3x20x20xi1>
    %n = nn.constant dense<0xFF800000> : tensor<2x3x20x20xf32>
    %mb = nn.broadcast %m dims [2, 3] : tensor<20x20xf32> to tensor<2x3x20x20xf32>
    %xm = nn.add %x, %mb : tensor<2x3x20x20xf32>
    %0 = nn.select %b, %xm, %n : tensor<2x3x20x20xi1>, tensor<2x3x20x20xf32>
    %1 = nn.softmax %0 axis 3 : tensor<2x3x20x20xf32>
    return %1 : tensor<2x3x20x20xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  program.check();
}

} // namespace
