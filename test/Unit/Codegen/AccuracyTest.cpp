//===- AccuracyTest.cpp - Errors of elementary functions ------------------===//
#include "KernelHarness.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstdio>

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

const Case kCases[] = {{"exp", std::exp, 0, 86, 1.5},    {"log", std::log, 1e-45, 3e38, 1.0},
                       {"tanh", std::tanh, 0, 20, 2.0},  {"erf", std::erf, 0, 10, 1.5},
                       {"sigmoid", sigmoid, 0, 86, 2.5}, {"sin", std::sin, 0, 1e9, 1.0},
                       {"cos", std::cos, 0, 1e9, 1.0}};

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

} // namespace
