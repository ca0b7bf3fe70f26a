//===- LossScaleTests.cpp - @update over scripted overflows ---------------===//
//
// The interpreter runs what nn-append-optimizer writes; beside it runs the rule as DeepSpeed 0.19 states it, with step
// numbers where @update has counters.
//
//===----------------------------------------------------------------------===//
#include "EvaluateCase.h"
#include "dialects/NN/NNOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace zero;
using namespace zero::test;
using nn::RoleKind;
using zero::reference::HostTensor;

namespace {

struct Scaler {
  int64_t window, delayedShift;
  bool isConsecutive;
  double minimum, scale;
  int64_t hysteresis = delayedShift, iteration = 0, lastOverflow = -1;

  void step(bool overflow) {
    if (overflow) {
      if (delayedShift == 1 || hysteresis == 1)
        scale = std::max(scale / 2, minimum);
      else
        --hysteresis;
      lastOverflow = iteration;
    } else {
      if (isConsecutive)
        hysteresis = delayedShift;
      int64_t stable = iteration - lastOverflow - 1;
      if (stable > 0 && stable % window == 0) {
        if (!isConsecutive)
          hysteresis = delayedShift;
        scale *= 2;
      }
    }
    ++iteration;
  }
};

const char *const kMicro = R"(
func.func @micro(%p: tensor<2xf16> {nn.role = #nn.role<parameter "p">}, %s: tensor<f32> {nn.role = #nn.role<loss_scale "">})
    -> (tensor<f32> {nn.role = #nn.role<loss_sum "">}, tensor<i64> {nn.role = #nn.role<label_count "">},
        tensor<2xf16> {nn.role = #nn.role<gradient "p">}) {
  %sum, %count = nn.output_loss %s : tensor<f32> -> tensor<f32>, tensor<i64>
  return %sum, %count, %p : tensor<f32>, tensor<i64>, tensor<2xf16>
})";

/// @update with its states, started from their nn.data.
class Update {
public:
  Update(const std::string &options) {
    module = evaluator.parse(kMicro);
    EXPECT_TRUE(evaluator.run(*module, "nn-append-optimizer{optimizer=sgd learning-rate=0.5 masters=true " + options + "}"));
    function = module->lookupSymbol<func::FuncOp>("update");
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      HostTensor tensor(cast<RankedTensorType>(function.getArgumentTypes()[i]));
      Attribute data = function.getArgAttr(i, nn::kDataAttrName);
      if (auto number = dyn_cast_or_null<FloatAttr>(data))
        tensor.setFloat(0, number.getValueAsDouble());
      else if (auto integer = dyn_cast_or_null<IntegerAttr>(data))
        tensor.setInt(0, integer.getInt());
      states.insert({getKind(function.getArgAttr(i, nn::kRoleAttrName)), tensor});
    }
    at(RoleKind::LabelCount).setInt(0, 1);
  }

  HostTensor &at(RoleKind kind) { return states.at(kind); }
  /// Runs @update; its results become the states of the same role.
  void run() {
    std::vector<HostTensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      arguments.push_back(at(getKind(function.getArgAttr(i, nn::kRoleAttrName))));
    std::vector<HostTensor> results = evaluator.evaluate(function, arguments);
    for (auto [i, result] : llvm::enumerate(results))
      states.insert_or_assign(getKind(function.getResultAttr(i, nn::kRoleAttrName)), result);
  }

private:
  static RoleKind getKind(Attribute role) { return cast<nn::RoleAttr>(role).getKind(); }

  Evaluator evaluator;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::map<RoleKind, HostTensor> states;
};

struct Rule {
  int64_t window, hysteresis;
  bool isConsecutive;
  double minimum, initial;
};

class LossScale : public testing::TestWithParam<Rule> {};

TEST_P(LossScale, FollowsDeepSpeed) {
  Rule rule = GetParam();
  Update update(llvm::formatv("loss-scale={0} loss-scale-window={1} hysteresis={2} consecutive-hysteresis={3} min-loss-scale={4}",
                              rule.initial, rule.window, rule.hysteresis, rule.isConsecutive, rule.minimum)
                    .str());
  Scaler scaler{rule.window, rule.hysteresis, rule.isConsecutive, rule.minimum, rule.initial};
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::mt19937 random(7);
  int overflows = 0, growths = 0;
  for (int step = 0; step < 200; ++step) {
    // Runs of steps with and without overflow, by what overflows: a gradient, one that is NaN, the loss.
    bool overflow = step > 8 && random() % (step < 100 ? 5 : 2) == 0;
    unsigned which = random() % 3;
    double gradient = 0.25 * (1 + random() % 8);
    update.at(RoleKind::Gradient).setFloat(0, overflow && which < 2 ? (which == 0 ? -inf : nan) : gradient);
    update.at(RoleKind::Gradient).setFloat(1, 2 * gradient);
    update.at(RoleKind::LossSum).setFloat(0, overflow && which == 2 ? inf : 1.5);
    double scale = update.at(RoleKind::LossScale).getFloat(0);
    HostTensor master = update.at(RoleKind::Master), parameter = update.at(RoleKind::Parameter);
    ASSERT_EQ(scale, scaler.scale) << "step " << step;
    ASSERT_EQ(update.at(RoleKind::ScaleHysteresis).getInt(0), scaler.hysteresis) << "step " << step;

    update.run();
    scaler.step(overflow);
    overflows += overflow;
    growths += update.at(RoleKind::LossScale).getFloat(0) > scale;
    EXPECT_EQ(update.at(RoleKind::Skipped).getFloat(0) != 0, overflow) << "step " << step;
    if (overflow) {
      EXPECT_EQ(update.at(RoleKind::Master).getBytes(), master.getBytes()) << "step " << step;
      EXPECT_EQ(update.at(RoleKind::Parameter).getBytes(), parameter.getBytes()) << "step " << step;
      continue;
    }
    // Gradients are divided by the scale, the loss is not.
    EXPECT_EQ(update.at(RoleKind::Loss).getFloat(0), 1.5);
    EXPECT_FLOAT_EQ(update.at(RoleKind::GradNorm).getFloat(0), std::sqrt(5.0) * gradient / scale);
    for (int i = 0; i < 2; ++i) {
      EXPECT_FLOAT_EQ(update.at(RoleKind::Master).getFloat(i), master.getFloat(i) - 0.5 * (1 + i) * gradient / scale);
      HostTensor rounded = parameter;
      rounded.setFloat(i, update.at(RoleKind::Master).getFloat(i));
      EXPECT_EQ(update.at(RoleKind::Parameter).getFloat(i), rounded.getFloat(i)) << "step " << step;
    }
  }
  EXPECT_GT(overflows, 30);
  EXPECT_GT(growths, 0);
}

INSTANTIATE_TEST_SUITE_P(Rules, LossScale,
                         testing::Values(Rule{4, 2, false, 1, 65536}, Rule{4, 2, true, 1, 65536}, Rule{1, 1, false, 1, 16},
                                         Rule{3, 1, false, 32, 64}, Rule{5, 3, false, 1, 4096}, Rule{2, 4, true, 0.25, 8},
                                         Rule{7, 1, false, 1, 1024}));

// A static scale divides, and stays.
TEST(LossScaleRule, Static) {
  Update update("loss-scale=8");
  for (bool overflow : {false, true, false}) {
    update.at(RoleKind::LossSum).setFloat(0, 1);
    for (int i = 0; i < 2; ++i)
      update.at(RoleKind::Gradient).setFloat(i, overflow ? std::numeric_limits<double>::infinity() : 4);
    HostTensor master = update.at(RoleKind::Master);
    update.run();
    EXPECT_EQ(update.at(RoleKind::Skipped).getFloat(0) != 0, overflow);
    EXPECT_EQ(update.at(RoleKind::Master).getFloat(0), master.getFloat(0) - (overflow ? 0 : 0.25));
    EXPECT_EQ(update.at(RoleKind::LossScale).getFloat(0), 8);
  }
}

// Beyond 2^127 is no float32: there the scale stays.
TEST(LossScaleRule, EndsAtTheLargestPowerOfTwo) {
  Update update("loss-scale=8.507059173023462e37 loss-scale-window=1"); // 2^126
  for (int step = 0; step < 6; ++step)
    update.run();
  EXPECT_EQ(update.at(RoleKind::LossScale).getFloat(0), std::ldexp(1.0, 127));
}

} // namespace
