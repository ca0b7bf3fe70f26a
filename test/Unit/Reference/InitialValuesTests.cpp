//===- InitialValuesTests.cpp - The numbers of #nn.initial ----------------===//
#include "dialects/NN/NNOps.h"
#include "mlir/IR/Builders.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace zero::nn;

namespace {

class InitialValues : public testing::Test {
protected:
  InitialValues() : builder(&context) { context.loadDialect<NNDialect>(); }

  InitialAttr make(InitialKind kind, double number, uint64_t seed, Type element) {
    return InitialAttr::get(&context, kind, builder.getF64FloatAttr(number), seed, element);
  }
  std::vector<float> values(InitialAttr attr, uint64_t first, size_t count) {
    std::vector<float> result(count);
    attr.fill(first, {reinterpret_cast<char *>(result.data()), count * sizeof(float)});
    return result;
  }

  MLIRContext context;
  Builder builder;
};

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments(ArrayRef<float> values) {
  Moments result;
  double squares = 0;
  for (float value : values) {
    result.mean += value;
    squares += double(value) * value;
    result.largest = std::max(result.largest, std::fabs(double(value)));
  }
  result.mean /= values.size();
  result.deviation = std::sqrt(squares / values.size() - result.mean * result.mean);
  return result;
}

TEST_F(InitialValues, HaveTheMomentsTheySay) {
  constexpr size_t kCount = 200000;
  Moments normal = moments(values(make(InitialKind::normal, 0.02, 7, builder.getF32Type()), 0, kCount));
  EXPECT_NEAR(normal.mean, 0, 4 * 0.02 / std::sqrt(kCount));
  EXPECT_NEAR(normal.deviation, 0.02, 0.02 * 0.01);
  EXPECT_GT(normal.largest, 0.07); // tails are there
  Moments uniform = moments(values(make(InitialKind::uniform, 0.5, 7, builder.getF32Type()), 0, kCount));
  EXPECT_NEAR(uniform.mean, 0, 4 * 0.29 / std::sqrt(kCount));
  EXPECT_NEAR(uniform.deviation, 0.5 / std::sqrt(3), 0.003);
  EXPECT_LE(uniform.largest, 0.5);
  EXPECT_EQ(values(make(InitialKind::constant, 1, 7, builder.getF32Type()), 0, 3), std::vector<float>(3, 1.0f));
}

TEST_F(InitialValues, DependOnSeedAndIndexAlone) {
  InitialAttr attr = make(InitialKind::normal, 1, 7, builder.getF32Type());
  std::vector<float> whole = values(attr, 0, 100);
  EXPECT_EQ(values(attr, 37, 50), std::vector<float>(whole.begin() + 37, whole.begin() + 87));
  EXPECT_NE(values(make(InitialKind::normal, 1, 8, builder.getF32Type()), 0, 100), whole);
}

TEST_F(InitialValues, AreRoundedOnceToTheirType) {
  double f64[4];
  make(InitialKind::normal, 1, 7, builder.getF64Type()).fill(0, {reinterpret_cast<char *>(f64), sizeof f64});
  uint16_t bf16[4], f16[4];
  make(InitialKind::normal, 1, 7, builder.getBF16Type()).fill(0, {reinterpret_cast<char *>(bf16), sizeof bf16});
  make(InitialKind::normal, 1, 7, builder.getF16Type()).fill(0, {reinterpret_cast<char *>(f16), sizeof f16});
  std::vector<float> f32 = values(make(InitialKind::normal, 1, 7, builder.getF32Type()), 0, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f32[i], static_cast<float>(f64[i]));
    bool losesInfo;
    APFloat expected(f64[i]);
    expected.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesInfo);
    EXPECT_EQ(bf16[i], expected.bitcastToAPInt().getZExtValue());
    expected = APFloat(f64[i]);
    expected.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &losesInfo);
    EXPECT_EQ(f16[i], expected.bitcastToAPInt().getZExtValue());
  }
}

} // namespace
