//===- FloatTypesTest.cpp - Generated kernels of f16, bf16 and f64 --------===//
//
// What has one correct rounding must have it: op by op, whether the next op is in the same kernel or not.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace zero::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

struct Element {
  const char *name;
  double relative; ///< a unit in the last place
  double smallest; ///< the smallest normal number
};
const Element kElements[] = {
    {"f16", 0x1p-10, 0x1p-14}, {"bf16", 0x1p-7, 0x1p-126}, {"f64", 1e-15, 0x1p-1022}};

std::string format(const char *text, const char *element, int64_t size = 0) {
  return llvm::formatv(text, element, size).str();
}

const std::vector<double> kSpecial = {
    0.0,  -0.0, 1.0,   -1.0,  kInfinity, -kInfinity, kNaN, 0.5,    -0.5,  1.5,   2.5,    -2.5,  3.0,
    1e-5, 6e-8, -7e-6, 1e-40, 65504.0,   -65504.0,   3e4,  1000.0, 255.0, 257.0, 2049.0, 0.333, -10.0};

TEST(FloatTypes, ExactOps) {
  for (const Element &element : kElements) {
    SCOPED_TRACE(element.name);
    Program program(format(R"(func.func @f(%x: tensor<676x{0}>, %y: tensor<676x{0}>)
        -> (tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>,
            tensor<676x{0}>, tensor<676x{0}>, tensor<676xi1>, tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>) {{
      %0 = nn.add %x, %y : tensor<676x{0}>
      %1 = nn.sub %0, %y : tensor<676x{0}>
      %2 = nn.mul %1, %y : tensor<676x{0}>
      %3 = nn.div %x, %y : tensor<676x{0}>
      %4 = nn.max %x, %y : tensor<676x{0}>
      %5 = nn.min %x, %y : tensor<676x{0}>
      %6 = nn.sqrt %3 : tensor<676x{0}>
      %7 = nn.rem %x, %y : tensor<676x{0}>
      %8 = nn.compare lt %2, %3 : tensor<676x{0}> -> tensor<676xi1>
      %9 = nn.select %8, %2, %7 : tensor<676xi1>, tensor<676x{0}>
      %10 = nn.round %2 : tensor<676x{0}>
      %11 = nn.neg %10 : tensor<676x{0}>
      return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>,
        tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>, tensor<676xi1>,
        tensor<676x{0}>, tensor<676x{0}>, tensor<676x{0}>
    })",
                           element.name));
    EXPECT_EQ(program.countKernels(), 1);
    Options options{.relative = 0, .absolute = 0};
    for (double x : kSpecial)
      for (double y : kSpecial) {
        options.values[0].push_back(x);
        options.values[1].push_back(y);
      }
    program.check(options);
    program.check({.low = -300, .high = 300, .relative = 0, .absolute = 0});
  }
}

TEST(FloatTypes, Functions) {
  for (const Element &element : kElements) {
    SCOPED_TRACE(element.name);
    std::string body, values, types;
    int count = 0;
    for (const char *name : {"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "sin", "cos", "atan",
                             "rsqrt", "reciprocal", "sign", "floor", "ceil", "abs", "relu"}) {
      body += format("  %{1} = nn.", element.name, count) + name +
              format(" %x : tensor<900x{0}>\n", element.name);
      values += (count ? ", %" : "%") + std::to_string(count);
      types += format(count ? ", tensor<900x{0}>" : "tensor<900x{0}>", element.name);
      ++count;
    }
    Program program(format("func.func @f(%x: tensor<900x{0}>) -> (", element.name) + types + ") {\n" + body +
                    "  return " + values + " : " + types + "\n}");
    program.check({.low = -9, .high = 9, .relative = element.relative, .absolute = 0});
    // Subnormal results may lose a place.
    program.check(
        {.relative = element.relative,
         .absolute = element.name == std::string("bf16") ? 0x1p-125 : element.smallest * element.relative,
         .values = {{0, kSpecial}}});
  }
}

TEST(FloatTypes, Pow) {
  for (const Element &element : kElements) {
    SCOPED_TRACE(element.name);
    Program program(format(
        R"(func.func @f(%x: tensor<676x{0}>, %y: tensor<676x{0}>) -> (tensor<676x{0}>, tensor<676x{0}>) {{
      %0 = nn.pow %x, %y : tensor<676x{0}>
      %c = nn.constant dense<3.0> : tensor<676x{0}>
      %1 = nn.pow %x, %c : tensor<676x{0}>
      return %0, %1 : tensor<676x{0}>, tensor<676x{0}>
    })",
        element.name));
    Options options{.relative = element.relative, .absolute = element.smallest * element.relative};
    for (double x : kSpecial)
      for (double y : kSpecial) {
        options.values[0].push_back(x);
        options.values[1].push_back(y);
      }
    program.check(options);
  }
}

// Numbers whose conversion by way of another type would round twice, and those that no integer holds.
TEST(FloatTypes, Casts) {
  const std::string elements[] = {"f32", "f64", "f16",  "bf16", "i64",  "i32", "i16",
                                  "i8",  "ui8", "ui16", "ui32", "ui64", "i1"};
  const std::vector<double> floats = {0,
                                      -0.0,
                                      2.5,
                                      -3.75,
                                      100,
                                      0.25,
                                      kNaN,
                                      kInfinity,
                                      -kInfinity,
                                      1e10,
                                      -1e10,
                                      1e20,
                                      -1e20,
                                      127.5,
                                      255.5,
                                      65519.99,
                                      65520,
                                      2049.000001,
                                      2050.99999,
                                      1 + 0x1p-8,
                                      1 + 0x1p-8 + 0x1p-40,
                                      1 + 0x1p-11,
                                      1 + 0x1p-11 + 0x1p-50,
                                      2147483647,
                                      2147483648.0,
                                      4294967295.0,
                                      4294967296.0,
                                      9223372036854775807.0,
                                      18446744073709551615.0,
                                      -9223372036854775808.0,
                                      6e-8,
                                      3e-8,
                                      2.9e-8,
                                      1e-40};
  const std::vector<double> integers = {0,
                                        1,
                                        7,
                                        127,
                                        200,
                                        -1,
                                        -128,
                                        32767,
                                        40000,
                                        16777217,
                                        2147483647,
                                        4294967295.0,
                                        0x1p62 + 0x1p54,
                                        -0x1p62 - 0x1p54,
                                        0x1.01p60 + 0x1p10,
                                        9007199254740993.0};
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
    bool isFloat = from.find('f') != std::string::npos;
    program.check({.relative = 0, .absolute = 0, .values = {{0, isFloat ? floats : integers}}});
    if (from == "i64" || from == "ui64") // around halves of bf16 and f32
      for (int64_t distance : {-1, 0, 1}) {
        std::vector<HostTensor> arguments = program.makeArguments({});
        for (int64_t i = 0; i < 70; ++i)
          arguments[0].setInt(i, (int64_t(0x101) << (i % 54)) + distance -
                                     (i % 3 == 0 && from == "i64" ? int64_t(0x203) << (i % 50) : 0));
        auto expected = program.evaluate(arguments);
        auto actual = program.run(arguments, getVariants().back(), 1 << 20, 0);
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(expected[i].getBytes() == actual[i].getBytes()) << "result " << i;
      }
  }
}

TEST(FloatTypes, Reductions) {
  for (const Element &element : kElements)
    for (int64_t size : {3, 50, 300}) {
      SCOPED_TRACE(format("{0} {1}", element.name, size));
      std::string body;
      for (const char *kind : {"sum", "max", "min", "prod"})
        body += llvm::formatv("  %{0} = nn.reduce {0} %x axes [1] : tensor<3x{2}x{1}> to tensor<3x{1}>\n"
                              "  %{0}c = nn.reduce {0} %y axes [0] : tensor<{2}x40x{1}> to tensor<40x{1}>\n",
                              kind, element.name, size)
                    .str();
      Program program(
          format(
              R"(func.func @f(%x: tensor<3x{1}x{0}>, %y: tensor<{1}x40x{0}>) -> (tensor<3x{0}>, tensor<3x{0}>,
        tensor<3x{0}>, tensor<3x{0}>, tensor<40x{0}>, tensor<40x{0}>, tensor<40x{0}>, tensor<40x{0}>) {{)",
              element.name, size) +
          "\n" + body +
          format(R"(
        return %sum, %max, %min, %prod, %sumc, %maxc, %minc, %prodc : tensor<3x{0}>, tensor<3x{0}>, tensor<3x{0}>,
          tensor<3x{0}>, tensor<40x{0}>, tensor<40x{0}>, tensor<40x{0}>, tensor<40x{0}>
      })",
                 element.name));
      program.check({.low = 0.9, .high = 1.1, .relative = std::max(element.relative, 1e-13), .absolute = 0});
    }
}

TEST(FloatTypes, Composites) {
  for (const Element &element : kElements) {
    SCOPED_TRACE(element.name);
    Options options{.low = -8,
                    .high = 8,
                    .relative = 2 * std::max(element.relative, 1e-14),
                    .absolute = element.relative};
    Program softmax(format(R"(func.func @f(%x: tensor<5x77x{0}>) -> tensor<5x77x{0}> {{
      %0 = nn.softmax %x axis 1 : tensor<5x77x{0}>
      return %0 : tensor<5x77x{0}>
    })",
                           element.name));
    EXPECT_EQ(softmax.countKernels(), 1);
    softmax.check(options);
    std::string wide = element.name == std::string("f64") ? "f64" : "f32";
    Program norm(
        llvm::formatv(
            R"(func.func @f(%x: tensor<6x77x{0}>, %s: tensor<77x{0}>, %b: tensor<77x{0}>) -> tensor<6x77x{0}> {{
      %0:3 = nn.layer_norm %x scale %s bias %b epsilon 1.0e-5
        : tensor<6x77x{0}>, tensor<77x{0}>, tensor<77x{0}> -> tensor<6x77x{0}>, tensor<6x{1}>, tensor<6x{1}>
      return %0#0 : tensor<6x77x{0}>
    })",
            element.name, wide.c_str())
            .str());
    options.absolute *= 8;
    norm.check(options);
    for (const char *kind : {"none", "tanh"}) {
      Program gelu(llvm::formatv(R"(func.func @f(%x: tensor<9x113x{0}>) -> tensor<9x113x{0}> {{
      %0 = nn.gelu {1} %x : tensor<9x113x{0}>
      return %0 : tensor<9x113x{0}>
    })",
                                 element.name, kind)
                       .str());
      gelu.check({.low = -6, .high = 6, .relative = 2 * element.relative, .absolute = 2 * element.relative});
    }
  }
}

TEST(FloatTypes, Iota) {
  for (const char *element : {"f16", "bf16"}) {
    SCOPED_TRACE(element);
    Program program(format(R"(func.func @f() -> (tensor<5000x{0}>, tensor<3x700x{0}>) {{
      %0 = nn.iota axis 0 : tensor<5000x{0}>
      %1 = nn.iota axis 1 : tensor<3x700x{0}>
      return %0, %1 : tensor<5000x{0}>, tensor<3x700x{0}>
    })",
                           element));
    program.check({.relative = 0, .absolute = 0});
  }
}

TEST(IntegerOps, ShiftsAndPowers) {
  for (const char *element : {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"}) {
    SCOPED_TRACE(element);
    Program program(format(R"(func.func @f(%x: tensor<120x{0}>, %y: tensor<120x{0}>, %e: tensor<120x{0}>)
        -> (tensor<120x{0}>, tensor<120x{0}>, tensor<120x{0}>, tensor<120x{0}>, tensor<120x{0}>) {{
      %0 = nn.shift_left %x, %y : tensor<120x{0}>
      %1 = nn.shift_right %x, %y : tensor<120x{0}>
      %2 = nn.pow %x, %e : tensor<120x{0}>
      %3 = nn.abs %x : tensor<120x{0}>
      %4 = nn.sign %x : tensor<120x{0}>
      return %0, %1, %2, %3, %4 : tensor<120x{0}>, tensor<120x{0}>, tensor<120x{0}>, tensor<120x{0}>, tensor<120x{0}>
    })",
                           element));
    program.check({.values = {{0, {0, 1, -1, 5, -5, 100, -128, 77, 1e9, -3e9, 9e18}},
                              {1, {0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64, 100, -1}},
                              {2, {0, 1, 2, 3, 5, 17, 60}}}});
  }
}

TEST(IntegerOps, UnsignedNumbersBeyondTheSignedOnes) {
  Program program(
      R"(func.func @f(%x: tensor<64xui64>, %y: tensor<64xui64>) -> (tensor<64xui64>, tensor<64xui64>, tensor<64xui64>,
      tensor<64xui64>, tensor<64xi1>, tensor<64xf64>, tensor<64xf32>, tensor<ui64>, tensor<ui64>) {
    %0 = nn.div %x, %y : tensor<64xui64>
    %1 = nn.rem %x, %y : tensor<64xui64>
    %2 = nn.max %x, %y : tensor<64xui64>
    %3 = nn.min %x, %y : tensor<64xui64>
    %4 = nn.compare gt %x, %y : tensor<64xui64> -> tensor<64xi1>
    %5 = nn.cast %x : tensor<64xui64> to tensor<64xf64>
    %6 = nn.cast %x : tensor<64xui64> to tensor<64xf32>
    %7 = nn.reduce max %x axes [0] : tensor<64xui64> to tensor<ui64>
    %8 = nn.reduce min %x axes [0] : tensor<64xui64> to tensor<ui64>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<64xui64>, tensor<64xui64>, tensor<64xui64>, tensor<64xui64>, tensor<64xi1>,
      tensor<64xf64>, tensor<64xf32>, tensor<ui64>, tensor<ui64>
  })");
  program.check({.relative = 0, .absolute = 0, .values = {{0, {-1, 10, -2, 9e18, 5}}, {1, {3, -7, 1, 2}}}});
}

} // namespace
