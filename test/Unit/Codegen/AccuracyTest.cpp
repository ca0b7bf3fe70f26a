//===- AccuracyTest.cpp - Errors of elementary functions ------------------===//
#include "KernelHarness.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

using namespace zero;
using namespace zero::test;

namespace {

struct Case {
  const char *name;
  double (*exact)(double);
  double low, high; ///< of |x|
  double bound;     ///< in units in the last place
};

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

const Case kCases[] = {{"exp", std::exp, 0, 86, 1.5},       {"log", std::log, 1e-45, 3e38, 1.0},
                       {"tanh", std::tanh, 0, 20, 2.5},     {"erf", std::erf, 0, 10, 1.5},
                       {"sigmoid", sigmoid, 0, 86, 2.5},    {"sin", std::sin, 0, 1e9, 1.0},
                       {"cos", std::cos, 0, 1e9, 1.0},      {"expm1", std::expm1, 0, 88, 2.0},
                       {"log1p", std::log1p, 0, 3e38, 2.0}, {"atan", std::atan, 0, 3e38, 2.0}};

/// Every 1009th float of both signs: about four million.
TEST(Accuracy, ElementaryFunctions) {
  constexpr int64_t count = 1 << 20;
  for (const Case &test : kCases) {
    std::string type = "tensor<" + std::to_string(count) + "xf32>";
    Program program("func.func @f(%x: " + type + ") -> " + type + " {\n  %0 = nn." + test.name +
                    " %x : " + type + "\n  return %0 : " + type + "\n}");
    std::vector<HostTensor> arguments = program.makeArguments({});
    double worst = 0, worstAt = 0;
    for (uint64_t start = 0; start < 1ull << 32; start += 1009 * count) {
      auto *x = reinterpret_cast<float *>(arguments[0].getBytes().data());
      for (int64_t i = 0; i < count; ++i) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(start + i * 1009));
        if (!(std::abs(x[i]) >= test.low && std::abs(x[i]) <= test.high))
          x[i] = 1.0f;
      }
      HostTensor result = program.run(arguments, getVariants().back(), int64_t(1) << 40, 0)[0];
      for (int64_t i = 0; i < count; ++i) {
        double exact = test.exact(x[i]), actual = result.getFloat(i);
        if (std::isnan(exact)) {
          ASSERT_TRUE(std::isnan(actual)) << test.name << " of " << x[i];
          continue;
        }
        float rounded = std::abs(static_cast<float>(exact));
        double ulp = std::max<double>(std::nextafter(rounded, INFINITY) - rounded, 0x1p-149);
        double error = std::abs(actual - exact) / ulp;
        if (error > worst)
          worst = error, worstAt = x[i];
      }
    }
    std::printf("%-8s %.2f ulp at %g\n", test.name, worst, worstAt);
    EXPECT_LE(worst, test.bound) << test.name << " at " << worstAt;
  }
}

struct DoubleCase {
  const char *name;
  long double (*exact)(long double);
  double low, high; ///< of |x|
  double bound;     ///< in units in the last place
};

long double longSigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

const DoubleCase kDoubleCases[] = {
    {"exp", expl, 1e-20, 745, 1.0},           {"expm1", expm1l, 1e-300, 709, 2.0},
    {"log", logl, 1e-308, 1e308, 1.0},        {"log1p", log1pl, 1e-300, 1e308, 2.0},
    {"tanh", tanhl, 1e-300, 30, 3.0},         {"erf", erfl, 1e-300, 8, 2.0},
    {"sigmoid", longSigmoid, 1e-9, 700, 2.5}, {"sin", sinl, 1e-300, 1e12, 1.0},
    {"cos", cosl, 1e-300, 1e12, 1.0},         {"atan", atanl, 1e-300, 1e300, 2.0}};

/// Units in the last place of `exact` between it and `actual`.
double ulpsBetween(long double exact, double actual) {
  auto rounded = std::abs(static_cast<double>(exact));
  double ulp = std::max(std::nextafter(rounded, INFINITY) - rounded, 0x1p-1074);
  return static_cast<double>(std::abs(actual - exact) / ulp);
}

/// A million floats of both signs: half of them spread over the exponents, half over the range.
TEST(Accuracy, ElementaryFunctionsOfDoubles) {
  constexpr int64_t count = 1 << 20;
  for (const DoubleCase &test : kDoubleCases) {
    std::string type = "tensor<" + std::to_string(count) + "xf64>";
    Program program("func.func @f(%x: " + type + ") -> " + type + " {\n  %0 = nn." + test.name +
                    " %x : " + type + "\n  return %0 : " + type + "\n}");
    std::vector<HostTensor> arguments = program.makeArguments({});
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> even(0, 1);
    auto *x = reinterpret_cast<double *>(arguments[0].getBytes().data());
    for (int64_t i = 0; i < count; ++i) {
      double part = even(random), high = i % 4 < 2 ? test.high : std::min(test.high, 40.0);
      double magnitude =
          i % 2 ? std::exp(std::log(test.low) + part * (std::log(high) - std::log(test.low))) : part * high;
      x[i] = random() % 2 ? magnitude : -magnitude;
    }
    HostTensor result = program.run(arguments, getVariants().back(), int64_t(1) << 40, 0)[0];
    double worst = 0, worstAt = 0;
    for (int64_t i = 0; i < count; ++i) {
      long double exact = test.exact(x[i]);
      double actual = result.getFloat(i);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(actual)) << test.name << " of " << x[i];
        continue;
      }
      if (std::isinf(static_cast<double>(exact))) {
        ASSERT_EQ(actual, static_cast<double>(exact)) << test.name << " of " << x[i];
        continue;
      }
      double error = ulpsBetween(exact, actual);
      if (!(error <= worst))
        worst = error, worstAt = x[i];
    }
    std::printf("f64 %-8s %.2f ulp at %.17g\n", test.name, worst, worstAt);
    EXPECT_LE(worst, test.bound) << test.name << " at " << worstAt;
  }
}

TEST(Accuracy, PowersOfDoubles) {
  constexpr int64_t count = 1 << 20;
  std::string type = "tensor<" + std::to_string(count) + "xf64>";
  Program program("func.func @f(%x: " + type + ", %y: " + type + ") -> " + type +
                  " {\n  %0 = nn.pow %x, %y : " + type + "\n  return %0 : " + type + "\n}");
  std::vector<HostTensor> arguments = program.makeArguments({});
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> even(0, 1);
  auto *x = reinterpret_cast<double *>(arguments[0].getBytes().data()),
       *y = reinterpret_cast<double *>(arguments[1].getBytes().data());
  for (int64_t i = 0; i < count; ++i) {
    x[i] = i % 3 ? even(random) * 20 : std::exp(1400 * even(random) - 700);
    y[i] = i % 3 == 1 ? 60 * even(random) - 30 : (1200 * even(random) - 600) / (std::abs(std::log(x[i])) + 1);
    if (i % 16 == 0) // exact
      x[i] = static_cast<double>(random() % 40) - 20, y[i] = static_cast<double>(random() % 12);
  }
  HostTensor result = program.run(arguments, getVariants().back(), int64_t(1) << 40, 0)[0];
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    long double exact = powl(x[i], y[i]);
    if (i % 16 == 0)
      ASSERT_EQ(result.getFloat(i), static_cast<double>(exact)) << x[i] << "^" << y[i];
    else if (std::isfinite(static_cast<double>(exact)))
      worst = std::max(worst, ulpsBetween(exact, result.getFloat(i)));
  }
  std::printf("f64 pow %.3f ulp\n", worst);
  EXPECT_LE(worst, 0.7);
}

} // namespace
