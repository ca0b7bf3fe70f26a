//===- ElementwiseTest.cpp - Generated kernels without reductions ---------===//
#include "KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace zero::test;

namespace {
const int64_t kSizes[] = {0, 1, 3, 15, 16, 17, 63, 64, 65, 1000};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

/// A function with one result for each of `ops`, on the arguments %x and %y.
std::string manyResults(const std::string &operand, const std::string &result,
                        const std::vector<std::string> &ops) {
  std::string body, values, types;
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string name = "%r" + std::to_string(i);
    body += "  " + name + " = " + ops[i] + "\n";
    values += (i ? ", " : "") + name;
    types += (i ? ", " : "") + result;
  }
  return "func.func @f(%x: " + operand + ", %y: " + operand + ") -> (" + types + ") {\n" + body +
         "  return " + values + " : " + types + "\n}";
}

TEST(Elementwise, UnaryFunctions) {
  std::string type = "tensor<1000xf32>";
  std::vector<std::string> ops;
  for (std::string name : {"neg", "abs", "exp", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "erf",
                           "sin", "cos", "relu", "sign", "floor", "ceil", "round", "log"})
    ops.push_back("nn." + name + " %x : " + type);
  Program program(manyResults(type, type, ops));
  program.check({.low = -9, .high = 9, .relative = 5e-7, .absolute = 1e-7});
  // Of exp and sigmoid, results that are no normal number may be 0.
  program.check({.relative = 5e-7,
                 .absolute = 0x1p-125,
                 .values = {{0, {0.0,  -0.0,  1.0,    -1.0,   kInfinity,  -kInfinity, kNaN, 88.5,
                                 89.5, -87.5, -100.0, -110.0, 1e-40,      1e-45,      1e12, 0.5,
                                 1.5,  2.5,   1e4,    -3e4,   12345678.0, 0.55,       0.93}}}});
}

TEST(Elementwise, BinaryFunctions) {
  for (std::string element : {"f32", "f64", "i64", "i32", "i16", "i8", "ui8", "ui16", "ui32", "ui64"}) {
    SCOPED_TRACE(element);
    std::string type = "tensor<500x" + element + ">";
    std::vector<std::string> ops;
    for (std::string name : {"add", "sub", "mul", "div", "max", "min", "rem"})
      ops.push_back("nn." + name + " %x, %y : " + type);
    if (element == "f32")
      ops.push_back("nn.pow %x, %y : " + type);
    Program program(manyResults(type, type, ops));
    EXPECT_EQ(program.countKernels(), 1);
    program.check({.low = -9, .high = 9, .lowInt = 1, .highInt = 9, .relative = 3e-7, .absolute = 0});
  }
}

TEST(Elementwise, PowerAndRemainderOfSpecialValues) {
  for (const char *name : {"pow", "rem"}) {
    SCOPED_TRACE(name);
    Program program(
        llvm::formatv(R"(func.func @f(%x: tensor<529xf32>, %y: tensor<529xf32>) -> tensor<529xf32> {{
      %0 = nn.{0} %x, %y : tensor<529xf32>
      return %0 : tensor<529xf32>
    })",
                      name)
            .str());
    const double special[] = {0.0,  -0.0,      1.0,        -1.0,       2.0,   -2.0,  3.0,   0.5,
                              -0.5, kInfinity, -kInfinity, kNaN,       1e30,  -1e30, 1e-30, 1e-44,
                              7.0,  -7.0,      1.5,        16777217.0, 100.0, -3.0,  0.1};
    Options options{.relative = 3e-7, .absolute = 0};
    for (double x : special)
      for (double y : special) {
        options.values[0].push_back(x);
        options.values[1].push_back(y);
      }
    program.check(options);
  }
}

TEST(Elementwise, Sizes) {
  for (int64_t size : kSizes) {
    SCOPED_TRACE(size);
    Program program(
        llvm::formatv(
            R"(func.func @f(%x: tensor<{0}xf32>, %y: tensor<{0}xf32>) -> (tensor<{0}xf32>, tensor<{0}xi1>) {{
      %0 = nn.mul %x, %y : tensor<{0}xf32>
      %1 = nn.compare lt %0, %y : tensor<{0}xf32> -> tensor<{0}xi1>
      %2 = nn.select %1, %x, %0 : tensor<{0}xi1>, tensor<{0}xf32>
      return %2, %1 : tensor<{0}xf32>, tensor<{0}xi1>
    })",
            size)
            .str());
    if (size) {
      EXPECT_EQ(program.countKernels(), 1);
      EXPECT_EQ(program.getItems(0), (size + 63) / 64);
    }
    program.check();
  }
}

TEST(Elementwise, Comparisons) {
  for (std::string element : {"f32", "f64", "i64", "i32", "i8", "ui8", "ui16", "ui32", "ui64"}) {
    SCOPED_TRACE(element);
    std::string type = "tensor<200x" + element + ">";
    std::vector<std::string> ops;
    for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
      ops.push_back("nn.compare " + predicate + " %x, %y : " + type + " -> tensor<200xi1>");
    Program program(manyResults(type, "tensor<200xi1>", ops));
    program.check({.values = {{0, {1, 2, 3, 100, 200, -1}}, {1, {2, 2, 2, 150, 100, 1, 3}}}});
    if (element.front() == 'f')
      program.check(
          {.values = {{0, {1, kNaN, 0.0, kInfinity}}, {1, {2, 2, kNaN, -0.0, kInfinity, kNaN, 3}}}});
  }
}

TEST(Elementwise, Casts) {
  const std::string elements[] = {"f32", "f64", "i64", "i32", "i16", "i8", "ui8", "ui16", "ui32", "ui64", "i1"};
  for (const std::string &from : elements) {
    SCOPED_TRACE(from);
    std::string type = "tensor<70x" + from + ">", body, values, types;
    for (const std::string &to : elements) {
      std::string result = "tensor<70x" + to + ">";
      body += "  %" + to + " = nn.cast %x : " + type + " to " + result + "\n";
      values += (values.empty() ? "%" : ", %") + to;
      types += (types.empty() ? "" : ", ") + result;
    }
    Program program("func.func @f(%x: " + type + ") -> (" + types + ") {\n" + body + "  return " + values +
                    " : " + types + "\n}");
    program.check({.values = {{0, {0, 1, 2.5, 3.75, 100, 7, 0.25, 120}}}});
  }
}

TEST(Elementwise, Logic) {
  for (std::string element : {"i1", "i8", "i64"}) {
    std::string type = "tensor<90x" + element + ">";
    Program program(manyResults(type, type,
                                {"nn.and %x, %y : " + type, "nn.or %x, %y : " + type,
                                 "nn.xor %x, %y : " + type, "nn.not %x : " + type}));
    program.check({.lowInt = 0, .highInt = 2});
  }
}

TEST(Elementwise, BroadcastsAlongEveryDimension) {
  Program program(
      R"(func.func @f(%x: tensor<3x4x5x6xf32>, %a: tensor<6xf32>, %b: tensor<4x1x1xf32>, %c: tensor<3x5xf32>, %s: tensor<f32>)
      -> tensor<3x4x5x6xf32> {
    %0 = nn.broadcast %a dims [3] : tensor<6xf32> to tensor<3x4x5x6xf32>
    %1 = nn.broadcast %b dims [1, 2, 3] : tensor<4x1x1xf32> to tensor<3x4x5x6xf32>
    %2 = nn.broadcast %c dims [0, 2] : tensor<3x5xf32> to tensor<3x4x5x6xf32>
    %3 = nn.broadcast %s dims [] : tensor<f32> to tensor<3x4x5x6xf32>
    %4 = nn.mul %x, %0 : tensor<3x4x5x6xf32>
    %5 = nn.add %4, %1 : tensor<3x4x5x6xf32>
    %6 = nn.sub %5, %2 : tensor<3x4x5x6xf32>
    %7 = nn.mul %6, %3 : tensor<3x4x5x6xf32>
    return %7 : tensor<3x4x5x6xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  program.check();
}

// x[i] - x[j] and more: one value as several operands.
TEST(Elementwise, OneValueAlongDifferentDimensions) {
  Program program(R"(func.func @f(%x: tensor<20xf32>, %y: tensor<20x20xf32>) -> tensor<20x20xf32> {
    %0 = nn.broadcast %x dims [0] : tensor<20xf32> to tensor<20x20xf32>
    %1 = nn.broadcast %x dims [1] : tensor<20xf32> to tensor<20x20xf32>
    %2 = nn.sub %0, %1 : tensor<20x20xf32>
    %3 = nn.mul %2, %y : tensor<20x20xf32>
    %4 = nn.broadcast %x dims [1] : tensor<20xf32> to tensor<20x20xf32>
    %5 = nn.add %3, %4 : tensor<20x20xf32>
    return %5 : tensor<20x20xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  EXPECT_EQ(program.getBody(0).getNumArguments(), 3u);
  program.check();
}

// Periods that do not divide each other, and a mask of which both sides are the same index.
TEST(Elementwise, CrossingDimensions) {
  Program program(
      R"(func.func @f(%x: tensor<6xf32>, %y: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<20x20xi1>) {
    %0 = nn.broadcast %x dims [1] : tensor<6xf32> to tensor<2x6xf32>
    %1 = nn.reshape %0 : tensor<2x6xf32> to tensor<3x4xf32>
    %2 = nn.broadcast %y dims [1] : tensor<4xf32> to tensor<3x4xf32>
    %3 = nn.add %1, %2 : tensor<3x4xf32>
    %i = nn.iota axis 0 : tensor<20xi64>
    %5 = nn.broadcast %i dims [0] : tensor<20xi64> to tensor<20x20xi64>
    %6 = nn.broadcast %i dims [1] : tensor<20xi64> to tensor<20x20xi64>
    %7 = nn.compare le %6, %5 : tensor<20x20xi64> -> tensor<20x20xi1>
    return %3, %7 : tensor<3x4xf32>, tensor<20x20xi1>
  })");
  program.check();
}

TEST(Elementwise, ReshapesInside) {
  Program program(
      R"(func.func @f(%x: tensor<4x6x5xf32>, %y: tensor<24x5xf32>, %z: tensor<5xf32>) -> tensor<120xf32> {
    %0 = nn.exp %x : tensor<4x6x5xf32>
    %1 = nn.reshape %0 : tensor<4x6x5xf32> to tensor<24x5xf32>
    %2 = nn.mul %1, %y : tensor<24x5xf32>
    %b = nn.broadcast %z dims [1] : tensor<5xf32> to tensor<24x5xf32>
    %3 = nn.add %2, %b : tensor<24x5xf32>
    %4 = nn.reshape %3 : tensor<24x5xf32> to tensor<120xf32>
    %5 = nn.neg %4 : tensor<120xf32>
    return %5 : tensor<120xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  program.check();
}

TEST(Elementwise, Iota) {
  for (const char *element : {"i64", "i32", "f32", "f64"}) {
    SCOPED_TRACE(element);
    // Whole, in the middle, and merged by a reshape with another axis.
    Program program(
        llvm::formatv(
            R"(func.func @f(%x: tensor<3x20x{0}>) -> (tensor<3x20x{0}>, tensor<3x20x{0}>, tensor<60x{0}>) {{
      %0 = nn.iota axis 0 : tensor<3x20x{0}>
      %1 = nn.iota axis 1 : tensor<3x20x{0}>
      %2 = nn.add %x, %0 : tensor<3x20x{0}>
      %3 = nn.add %x, %1 : tensor<3x20x{0}>
      %4 = nn.reshape %3 : tensor<3x20x{0}> to tensor<60x{0}>
      %5 = nn.iota axis 0 : tensor<60x{0}>
      %6 = nn.mul %4, %5 : tensor<60x{0}>
      return %2, %3, %6 : tensor<3x20x{0}>, tensor<3x20x{0}>, tensor<60x{0}>
    })",
            element)
            .str());
    program.check();
  }
}

TEST(Elementwise, Sources) {
  Program program(R"(func.func @f(%b: tensor<7xf32>) -> (tensor<5x7xf32>, tensor<3xi1>, tensor<9xi64>) {
    %0 = nn.broadcast %b dims [1] : tensor<7xf32> to tensor<5x7xf32>
    %1 = nn.constant dense<true> : tensor<3xi1>
    %2 = nn.iota axis 0 : tensor<9xi64>
    return %0, %1, %2 : tensor<5x7xf32>, tensor<3xi1>, tensor<9xi64>
  })");
  program.check();
}

TEST(Elementwise, Gelu) {
  for (const char *kind : {"none", "tanh"}) {
    SCOPED_TRACE(kind);
    std::string text = llvm::formatv(R"(func.func @f(%x: tensor<9x113xf32>) -> tensor<9x113xf32> {{
      %0 = nn.gelu {0} %x : tensor<9x113xf32>
      return %0 : tensor<9x113xf32>
    })",
                                     kind)
                           .str();
    Options options{.low = -6, .high = 6, .relative = 3e-6, .absolute = 2e-6};
    Program(text).check(options);
    // x u' / 2, at most 14 here, times what 1 - tanh(u)^2 is off where both round tanh near 1 by an ulp of theirs: 2 * 2^-23.
    options.absolute = 4e-6;
    Program(text, /*addGradients=*/true).check(options);
  }
}

TEST(Elementwise, Adam) {
  for (const char *flags : {"", ", decoupled"})
    for (const char *decay : {"0.0", "0.1"}) {
      SCOPED_TRACE(flags);
      Program program(llvm::formatv(R"(
        func.func @f(%p: tensor<1000xf32>, %g: tensor<1000xf32>, %m: tensor<1000xf32>, %v: tensor<1000xf32>,
                     %s: tensor<f32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>)
            -> (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) {{
          %0:3 = nn.adam %p, %g, %m, %v scale %s lr %lr correction %c1, %c2
            {{beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = {0} : f64{1}} : tensor<1000xf32>, tensor<f32>
          return %0#0, %0#1, %0#2 : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>
        })",
                                    decay, flags)
                          .str());
      EXPECT_EQ(program.countKernels(), 1);
      EXPECT_EQ(program.getItems(0), 16);
      program.check(
          {.low = 0.01, .high = 1.0, .values = {{4, {0.5}}, {5, {1e-3}}, {6, {0.1}}, {7, {0.001}}}});
    }
}

TEST(Elementwise, Sgd) {
  Program program(
      R"(func.func @f(%p: tensor<100xf32>, %g: tensor<100xf32>, %m: tensor<100xf32>, %s: tensor<f32>, %lr: tensor<f32>)
      -> (tensor<100xf32>, tensor<100xf32>) {
    %0:2 = nn.sgd %p, %g momentum %m scale %s lr %lr {momentum = 0.9 : f64, weight_decay = 0.01 : f64, nesterov}
      : tensor<100xf32>, tensor<f32>, tensor<100xf32> -> tensor<100xf32>
    return %0#0, %0#1 : tensor<100xf32>, tensor<100xf32>
  })");
  EXPECT_EQ(program.countKernels(), 1);
  program.check();
}

} // namespace
