//===- CalibrationTests.cpp - Rates from samples, and as a file -----------===//
#include "SmallPlan.h"
#include "zero/Analysis/Calibration.h"
#include "zero/Analysis/Timeline.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace zero {
namespace {

CommandSample product(int64_t m, int64_t n, int64_t k, bool transposeRhs, double flopsPerSecond) {
  CommandSample sample{"matmul", {}};
  sample.cost.flops = 2 * m * n * k;
  sample.cost.product = {0, m, n, k, false, transposeRhs};
  sample.seconds = static_cast<double>(sample.cost.flops) / flopsPerSecond;
  return sample;
}

CommandSample moving(const std::string &kind, int64_t bytes, double bytesPerSecond) {
  CommandSample sample{kind, {}};
  sample.cost.bytesRead = bytes;
  sample.seconds = static_cast<double>(bytes) / bytesPerSecond;
  return sample;
}

CommandSample attention(int64_t length, double flopsPerSecond) {
  CommandSample sample = moving("attention", 4096, 1);
  sample.cost.flops = 1000000;
  sample.cost.length = length;
  sample.seconds = 1e6 / flopsPerSecond;
  return sample;
}

CommandSample arithmetic(int64_t plain, Arithmetic kind, int64_t elements, double seconds) {
  CommandSample sample{"fused", {}};
  sample.cost.bytesRead = 64;
  sample.cost.arithmetic[0] = plain;
  sample.cost.arithmetic[static_cast<unsigned>(kind)] += elements;
  sample.seconds = seconds;
  return sample;
}

CommandSample collective(int64_t bytes, double seconds) {
  CommandSample sample{"all_gather", {}};
  sample.cost.wireBytes = bytes;
  sample.seconds = seconds;
  return sample;
}

std::vector<CommandSample> makeSamples() {
  return {product(1024, 512, 512, false, 100e9), product(1024, 512, 512, false, 90e9),  product(1024, 512, 512, false, 110e9), product(64, 64, 64, false, 25e9),
          product(1024, 512, 512, true, 80e9),   attention(128, 40e9),                  attention(512, 80e9),                  moving("sum_squares", 1 << 20, 20e9),
          moving("sum_squares", 128, 1e9),       moving("update", 1 << 24, 50e9),       moving("update", 1 << 12, 200e9),      arithmetic(1 << 20, Arithmetic::Plain, 0, 1e-5),
          arithmetic(1 << 20, Arithmetic::Exponential, 1 << 20, 1e-5 + 1e-3),           collective(64, 5e-6),                  collective(1000000, 5e-6 + 1e-3),
          collective(3000000, 5e-6 + 3e-3)};
}

TEST(Calibration, FitsWhatSamplesShow) {
  TargetRates rates = fitRates(makeSamples(), "a machine");
  EXPECT_TRUE(rates.isCalibrated());
  EXPECT_FALSE(getTargetRates().isCalibrated());
  // Medians of a shape, the shape itself where it was measured, between two shapes something between.
  EXPECT_NEAR(rates.getProductRate({0, 1024, 512, 512, false, false}), 100e9, 1e7);
  EXPECT_NEAR(rates.getProductRate({0, 1024, 512, 512, false, true}), 80e9, 1e7);
  double between = rates.getProductRate({0, 256, 128, 128, false, false});
  EXPECT_GT(between, 26e9);
  EXPECT_LT(between, 99e9);
  // No transposed left side was measured.
  EXPECT_EQ(rates.getProductRate({0, 8, 8, 8, true, false}), rates.productFlopsPerSecond);
  EXPECT_NEAR(rates.getKernelRate("attention", 0, 64)->flopsPerSecond, 40e9, 1);
  EXPECT_NEAR(rates.getKernelRate("attention", 0, 256)->flopsPerSecond, 2 / (1 / 40e9 + 1 / 80e9), 1e3);
  EXPECT_NEAR(rates.getKernelRate("attention", 0, 4096)->flopsPerSecond, 80e9, 1);
  EXPECT_FALSE(rates.getKernelRate("attention", 3, 128));
  EXPECT_FALSE(rates.getKernelRate("top_k", 0, 0));
  EXPECT_NEAR(rates.getKernelRate("sum_squares", 0, 0)->bytesPerSecond, 20e9, 1);
  EXPECT_NEAR(rates.memoryBytesPerSecond, 50e9, 1);
  EXPECT_NEAR(rates.elementSeconds[0], 1e-5 / (1 << 20), 1e-15);
  EXPECT_NEAR(rates.elementSeconds[static_cast<unsigned>(Arithmetic::Exponential)], 1e-3 / (1 << 20), 1e-12);
  // Not measured: as plain.
  EXPECT_EQ(rates.elementSeconds[static_cast<unsigned>(Arithmetic::Tangent)], rates.elementSeconds[0]);
  EXPECT_EQ(rates.collectiveSeconds, 5e-6);
  EXPECT_NEAR(rates.wireBytesPerSecond, 1e9, 1e6);
}

TEST(Calibration, IsKeptAsJson) {
  TargetRates rates = fitRates(makeSamples(), "a \"machine\"");
  std::string text, again;
  {
    llvm::raw_string_ostream os(text);
    writeRates(rates, os);
  }
  llvm::Expected<TargetRates> read = parseRates(text);
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  {
    llvm::raw_string_ostream os(again);
    writeRates(*read, os);
  }
  EXPECT_EQ(text, again);
  EXPECT_EQ(read->machine, "a \"machine\"");
  EXPECT_EQ(read->products.size(), rates.products.size());
  EXPECT_EQ(read->linkBytesPerSecond, 0);
}

std::string parseError(std::string text, llvm::StringRef from, llvm::StringRef to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
  llvm::Expected<TargetRates> read = parseRates(text);
  return read ? "" : llvm::toString(read.takeError());
}

TEST(Calibration, RefusesWhatIsNone) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeRates(fitRates(makeSamples(), "m"), os);
  EXPECT_TRUE(llvm::StringRef(parseError(text, "zero-calibration", "zero-report")).contains("'zero-report' version 1, not 'zero-calibration' version 1"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"format_version\": 1", "\"format_version\": 2")).contains("version 2"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"cpu\"", "\"gpu\"")).contains("it is of target 'gpu', not 'cpu'"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"m\"", "\"\"")).contains("names no machine"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"tangent\"", "\"tan\"")).contains("elements_per_second has no 'tangent'"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"command_ns\"", "\"command\"")).contains("command_ns"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"wire_bytes_per_second\": ", "\"wire_bytes_per_second\": -")).contains("a rate is not above 0"));
  EXPECT_NE(parseError(text, "{", "["), "");
}

class CalibratedTimeline : public ::testing::Test {
protected:
  CalibratedTimeline() { test::loadDialects(context); }

  std::vector<PredictedCommand> predict(const TargetRates &rates) {
    std::string text = "plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 12288 : i64}\n";
    for (const char *name : {"a", "b"})
      text += std::string("plan.buffer @") + name + " in @device {content = #plan<content activations>, label = \"\", size_bytes = 4096 : i64}\n";
    std::string dispatch = "plan.dispatch \"matmul\" on compute reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 64>] waits [] "
                           "{integers = array<i64: 0, 1, 100, 100, 100, 0, 0, 0, 0, 0, 0, 0, 0>, reals = array<f64>}\n";
    std::string gather = "plan.collective all_gather f32 on gather <@a, 0, 64> to <@b, 0, 128> waits [] "
                         "{label = \"b0\", sequence = 0 : i64, wire_bytes = 1000000 : i64}\n";
    std::string reduce = "plan.collective reduce_scatter f32 on reduce <@b, 0, 128> to <@b, 0, 64> staging <@a, 0, 64> waits [] "
                         "{label = \"b0\", sequence = 0 : i64, wire_bytes = 1000000 : i64}\n";
    module = parseSourceString<ModuleOp>(text + "plan.section @micro_first {\n" + gather + reduce + dispatch + dispatch + "}\n", &context);
    EXPECT_TRUE(module);
    costs.emplace(*module);
    return predictTimeline(*module->getOps<plan::SectionOp>().begin(), *costs, rates);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<CommandCosts> costs;
};

TEST_F(CalibratedTimeline, CollectivesTakeTheCore) {
  TargetRates rates = getTargetRates();
  rates.machine = "m";
  rates.collectiveSeconds = 0, rates.commandSeconds = 0, rates.wireBytesPerSecond = 1e9, rates.productFlopsPerSecond = 1e9; // 1 ms, 2 ms
  std::vector<PredictedCommand> beside = predict(rates);
  EXPECT_EQ(beside[2].start, 0);
  EXPECT_EQ(predictStep(*module, *costs, rates).exposed, 0);
  rates.collectivesUseCore = true;
  std::vector<PredictedCommand> shared = predict(rates);
  EXPECT_EQ(shared[2].start, 2000000); // both collectives
  EXPECT_EQ(shared[3].start, 4000000);
  PredictedStep step = predictStep(*module, *costs, rates);
  EXPECT_EQ(step.duration, 6000000);
  EXPECT_EQ(step.exposed, 2000000);
}

TEST_F(CalibratedTimeline, CollectivesShareTheLink) {
  TargetRates rates = getTargetRates();
  rates.collectiveSeconds = 0, rates.commandSeconds = 0, rates.wireBytesPerSecond = 1e9, rates.productFlopsPerSecond = 1e9;
  rates.linkBytesPerSecond = 1e8; // 10 ms each
  std::vector<PredictedCommand> times = predict(rates);
  EXPECT_EQ(times[0].duration, 10000000);
  EXPECT_EQ(times[1].start, 0); // it waits for the link from there on
  EXPECT_EQ(times[1].end(), 20000000);
  EXPECT_EQ(times[2].start, 0);
  EXPECT_EQ(predictStep(*module, *costs, rates).exposed, 20000000 - 4000000);
}

} // namespace
} // namespace zero
