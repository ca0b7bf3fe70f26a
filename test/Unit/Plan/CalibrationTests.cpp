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
  sample.cost.bytesMoved = bytes;
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
  sample.cost.bytesMoved = 64;
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
  // Of two sizes both are met: a line, not a rate alone.
  KernelRate squares = *rates.getKernelRate("sum_squares", 0, 0);
  EXPECT_NEAR(squares.seconds + (1 << 20) / squares.bytesPerSecond, (1 << 20) / 20e9, 1e-12);
  EXPECT_NEAR(squares.seconds + 128 / squares.bytesPerSecond, 128 / 1e9, 1e-12);
  EXPECT_NEAR(rates.memoryBytesPerSecond, 50e9, 1);
  EXPECT_NEAR(rates.elementSeconds[0], 1e-5 / (1 << 20), 1e-15);
  EXPECT_NEAR(rates.elementSeconds[static_cast<unsigned>(Arithmetic::Exponential)], 1e-3 / (1 << 20), 1e-12);
  // Not measured: as plain.
  EXPECT_EQ(rates.elementSeconds[static_cast<unsigned>(Arithmetic::Tangent)], rates.elementSeconds[0]);
  EXPECT_NEAR(rates.collectiveSeconds, 5e-6, 1e-7);
  EXPECT_NEAR(rates.wireBytesPerSecond, 1e9, 1e6);
}

TEST(Calibration, TellsTypesApart) {
  std::vector<CommandSample> samples = makeSamples();
  CommandSample narrow = product(1024, 512, 512, false, 200e9), gather = collective(4000000, 2e-3), reduce = collective(4000000, 8e-3);
  narrow.cost.product.element = narrow.cost.element = 3;
  reduce.kind = "reduce_scatter";
  reduce.cost.element = 3;
  CommandSample wide = attention(128, 150e9);
  wide.cost.element = 3;
  samples.insert(samples.end(), {narrow, gather, reduce, wide});
  TargetRates rates = fitRates(samples, "m");
  EXPECT_NEAR(rates.getProductRate({3, 1024, 512, 512, false, false}), 200e9, 1e7);
  EXPECT_NEAR(rates.getProductRate({0, 1024, 512, 512, false, false}), 100e9, 1e7);
  EXPECT_NEAR(rates.productFlopsPerSecond, fitRates(makeSamples(), "m").productFlopsPerSecond, 1) << "that of float32";
  EXPECT_NEAR(rates.getKernelRate("attention", 3, 1000)->flopsPerSecond, 150e9, 1);
  EXPECT_NEAR(rates.getKernelRate("attention", 0, 128)->flopsPerSecond, 40e9, 1);
  auto predict = [&](const char *kind, int64_t element) {
    CommandCost cost;
    cost.element = element;
    cost.wireBytes = 4000000;
    return static_cast<double>(predictDuration(kind, cost, rates));
  };
  EXPECT_NEAR(predict("all_gather", 0), 2e6, 2e3);
  EXPECT_NEAR(predict("reduce_scatter", 3), 8e6, 8e3);
}

TEST(Calibration, KernelsThatGoDownColumnsByTheirRows) {
  std::vector<CommandSample> samples = makeSamples();
  for (auto [row, rate] : {std::pair<int64_t, double>{1024, 40e9}, {4096, 10e9}}) {
    samples.push_back(moving("fused", 1 << 22, rate));
    samples.back().cost.length = row;
  }
  TargetRates rates = fitRates(samples, "m");
  auto seconds = [&](int64_t row) {
    CommandCost cost;
    cost.bytesMoved = 1 << 22;
    cost.length = row;
    return static_cast<double>(predictDuration("fused", cost, rates)) * 1e-9 - rates.commandSeconds;
  };
  EXPECT_NEAR(seconds(1024), (1 << 22) / 40e9, 2e-9);
  EXPECT_NEAR(seconds(8192), (1 << 22) / 10e9, 2e-9);
  EXPECT_NEAR(seconds(2048), (1 << 22) * (1 / 40e9 + 1 / 10e9) / 2, 2e-9);
  EXPECT_NEAR(seconds(0), (1 << 22) / 50e9, 2e-9) << "what streams does so at the memory's rate";
}

TEST(Calibration, RanksThatComputeAtOnceAreSlower) {
  std::vector<CommandSample> samples = makeSamples();
  for (CommandSample &sample : samples)
    if (sample.kind == "matmul")
      sample.sharedSeconds = 1.1 * sample.seconds;
    else if (sample.kind == "update")
      sample.sharedSeconds = 1.5 * sample.seconds;
  TargetRates rates = fitRates(samples, "m", /*sharedRanks=*/5);
  EXPECT_NEAR(rates.getSlowdown("matmul", 5), 1.1, 1e-9);
  EXPECT_NEAR(rates.getSlowdown("attention_grad", 9), 1.1, 1e-9);
  EXPECT_NEAR(rates.getSlowdown("fused", 3), 1.25, 1e-9) << "as updates, half of the other ranks";
  EXPECT_EQ(rates.getSlowdown("matmul", 1), 1);
  EXPECT_EQ(fitRates(makeSamples(), "m").getSlowdown("matmul", 2), 1) << "not measured";
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
  EXPECT_TRUE(llvm::StringRef(parseError(text, "zero-calibration", "zero-report")).contains("'zero-report' version 2, not 'zero-calibration' version 2; measure again with zero-compile --calibrate"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"format_version\": 2", "\"format_version\": 1")).contains("'zero-calibration' version 1, not"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"cpu\"", "\"gpu\"")).contains("it is of target 'gpu', not 'cpu'"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"m\"", "\"\"")).contains("names no machine"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"tangent\"", "\"tan\"")).contains("elements_per_second has no 'tangent'"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"command_ns\"", "\"command\"")).contains("command_ns"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"wire_bytes_per_second\": ", "\"wire_bytes_per_second\": -")).contains("a rate is not above 0"));
  EXPECT_TRUE(llvm::StringRef(parseError(text, "\"shared_ranks\": 1", "\"shared_ranks\": 0")).contains("a rate is not above 0"));
  EXPECT_NE(parseError(text, "{", "["), "");
}

class CalibratedTimeline : public ::testing::Test {
protected:
  CalibratedTimeline() { test::loadDialects(context); }

  std::vector<PredictedCommand> predict(const TargetRates &rates) {
    std::string text = mesh + "plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 12288 : i64}\n";
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
  std::string mesh;
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
  // 10 ms each, and frames and headers: 1514 bytes carry 1448.
  rates.linkBytesPerSecond = 1e8;
  const int64_t each = std::llround(1e7 * 1514 / 1448);
  std::vector<PredictedCommand> times = predict(rates);
  EXPECT_EQ(times[0].duration, each);
  EXPECT_EQ(times[1].start, 0); // it waits for the link from there on
  EXPECT_EQ(times[1].end(), 2 * each);
  EXPECT_EQ(times[2].start, 0);
  EXPECT_EQ(predictStep(*module, *costs, rates).exposed, 2 * each - 4000000);
}

TEST_F(CalibratedTimeline, MessagesTakeTheCore) {
  TargetRates rates = getTargetRates();
  rates.machine = "m";
  rates.collectivesUseCore = true;
  rates.collectiveSeconds = 0, rates.commandSeconds = 0, rates.wireBytesPerSecond = 1e9, rates.productFlopsPerSecond = 1e9;
  rates.linkBytesPerSecond = 1e8;
  KernelRate messages;
  messages.kind = kMessages.str();
  messages.bytesPerSecond = 2e8; // 5 ms each, and as much beside the thread
  rates.kernels.push_back(messages);
  EXPECT_EQ(predict(rates)[2].start, 20000000);
  rates.linkBytesPerSecond = 0; // there are none
  EXPECT_EQ(predict(rates)[2].start, 2000000);
}

TEST_F(CalibratedTimeline, RanksShareTheMachine) {
  TargetRates rates = getTargetRates();
  rates.machine = "m";
  rates.commandSeconds = 0, rates.productFlopsPerSecond = 1e9; // 2 ms
  rates.slowdowns["matmul"] = 1.25;
  rates.sharedRanks = 2;
  EXPECT_EQ(predict(rates)[2].duration, 2000000) << "one rank";
  mesh = "zero.mesh @dp {size = 2 : i64}\n";
  EXPECT_EQ(predict(rates)[2].duration, 2500000);
}

} // namespace
} // namespace zero
