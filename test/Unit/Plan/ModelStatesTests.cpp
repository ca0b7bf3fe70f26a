//===- ModelStatesTests.cpp - Formulas of model states and traffic --------===//
#include "SmallPlan.h"
#include "zero/Analysis/ModelStates.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace zero {
namespace {

constexpr int64_t kBillion = 1000000000;

double perElement(ElementStates states, unsigned stage, int64_t ranks) {
  return static_cast<double>(computeModelStates(1024 * kBillion, states, stage, ranks).total()) / (1024.0 * kBillion);
}

TEST(ModelStates, PerElementAsTheDesignSays) {
  for (double n : {1.0, 2.0, 16.0, 1024.0}) {
    auto of = [&](Precision precision, unsigned stage) {
      return perElement(getAdamStates(precision), stage, static_cast<int64_t>(n));
    };
    EXPECT_EQ(of(Precision::Float32, 0), 16);
    EXPECT_EQ(of(Precision::Float32, 1), 8 + 8 / n);
    EXPECT_EQ(of(Precision::Float32, 2), 4 + 12 / n);
    EXPECT_EQ(of(Precision::Float32, 3), 16 / n);
    EXPECT_EQ(of(Precision::Mixed, 0), 16);
    EXPECT_EQ(of(Precision::Mixed, 1), 4 + 12 / n);
    EXPECT_EQ(of(Precision::Mixed, 2), 2 + 14 / n);
    EXPECT_EQ(of(Precision::Mixed, 3), 16 / n);
    EXPECT_EQ(of(Precision::BF16Grad32, 0), 18);
    EXPECT_EQ(of(Precision::BF16Grad32, 2), 2 + 16 / n);
    EXPECT_EQ(of(Precision::BF16Grad32, 3), 18 / n);
  }
}

// Megatron Core User Guide, "Distributed Optimizer": bytes per parameter without and with it, which is stage 1.
TEST(ModelStates, MegatronsDistributedOptimizer) {
  constexpr ElementStates kHalfGradients = {2, 2, 4 + 4 + 4 + 4}; // a float32 copy of the gradient beside masters and moments
  EXPECT_EQ(perElement(kHalfGradients, 0, 8), 20);
  EXPECT_EQ(perElement(getAdamStates(Precision::BF16Grad32), 0, 8), 18);
  EXPECT_EQ(perElement(getAdamStates(Precision::Float32), 0, 8), 16);
  for (double d : {1.0, 8.0, 64.0}) {
    int64_t ranks = static_cast<int64_t>(d);
    EXPECT_EQ(perElement(kHalfGradients, 1, ranks), 4 + 16 / d);
    EXPECT_EQ(perElement(getAdamStates(Precision::BF16Grad32), 1, ranks), 6 + 12 / d);
    EXPECT_EQ(perElement(getAdamStates(Precision::Float32), 1, ranks), 8 + 8 / d);
  }
}

TEST(ModelStates, RankOwnsWholeElements) {
  EXPECT_EQ(computeModelStates(10, {4, 4, 8}, 3, 4).total(), 3 * 16);
  EXPECT_EQ(computeModelStates(0, {4, 4, 8}, 3, 4).total(), 0);
  EXPECT_EQ(computeModelStates(1, {4, 4, 8}, 1, 1024).total(), 16);
}

TEST(ModelStates, TenTrillionElementsDoNotOverflow) {
  ModelStates states = computeModelStates(10000 * kBillion, getAdamStates(Precision::BF16Grad32), 0, 1024);
  EXPECT_EQ(states.total(), 180000 * kBillion);
  EXPECT_EQ(static_cast<int64_t>(computeModelTraffic(10240 * kBillion, {4, 4, 8}, 3, 1024, 100, ReduceAt::MicroBatch)),
            10 * kBillion * 1023 * 4 * 300);
}

TEST(ModelTraffic, TwiceThriceAndWithAccumulation) {
  auto factor = [](unsigned stage, int64_t microBatches, bool each = true) {
    return getTrafficFactors(stage, microBatches, each ? ReduceAt::MicroBatch : ReduceAt::Step).total();
  };
  for (bool each : {false, true}) {
    EXPECT_EQ(factor(0, 1, each), 2);
    EXPECT_EQ(factor(1, 1, each), 2);
  }
  EXPECT_EQ(factor(2, 1), 2);
  EXPECT_EQ(factor(3, 1), 3);
  EXPECT_EQ(factor(0, 5, false), 2);
  EXPECT_EQ(factor(1, 5, false), 2);
  EXPECT_EQ(factor(0, 5), 10);
  EXPECT_EQ(factor(1, 5), 6);
  EXPECT_EQ(factor(2, 5), 6);
  EXPECT_EQ(factor(3, 5), 15);
  auto bytes = [](ElementStates states, unsigned stage, int64_t ranks) {
    return static_cast<int64_t>(computeModelTraffic(128, states, stage, ranks, 1, ReduceAt::MicroBatch));
  };
  EXPECT_EQ(bytes({4, 4, 8}, 3, 2), 3 * 128 * 4 / 2);
  EXPECT_EQ(bytes({4, 4, 8}, 3, 1), 0);
  EXPECT_EQ(bytes({2, 4, 12}, 0, 2), (2 + 4) * 128 / 2); // whole sums in the type of gradients
  EXPECT_EQ(bytes({2, 4, 12}, 1, 2), (2 + 2) * 128 / 2);
  EXPECT_EQ(bytes({2, 4, 12}, 3, 2), (2 + 2 + 2) * 128 / 2);
}

TEST(ModelStates, ParametersAreCountedInEveryPhase) {
  MLIRContext context;
  test::loadDialects(context);
  auto count = [&](const std::string &text) {
    return countParameterElements(*parseSourceString<ModuleOp>(text, &context));
  };
  EXPECT_EQ(count(test::smallPlan("#nn.external<\"m.onnx\", 0, 384, 1>")), 98);
  std::string arguments = "(%x: tensor<?x4xf32> {nn.role = #nn.role<input \"x\">}, "
                          "%w: tensor<4x3xf32> {nn.role = #nn.role<parameter \"w\">}, "
                          "%c: tensor<9xf32> {nn.role = #nn.role<frozen \"c\">}) { return }\n";
  EXPECT_EQ(count("func.func @micro" + arguments + "func.func @predict" + arguments), 12);
  EXPECT_FALSE(count("func.func @forward() { return }"));
}

TEST(Precisions, NamesAreRead) {
  for (Precision precision : kPrecisions)
    EXPECT_EQ(parsePrecision(getPrecisionName(precision)), precision);
  EXPECT_FALSE(parsePrecision("fp8"));
}

} // namespace
} // namespace zero
