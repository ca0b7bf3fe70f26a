//===- TimelineTests.cpp - What commands cost and when they are thought to run ===//
#include "SmallPlan.h"
#include "zero/Analysis/Timeline.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace zero {
namespace {

class Costs : public ::testing::Test {
protected:
  Costs() { test::loadDialects(context); }

  /// A module whose section holds these commands, over buffers @a, @b, @w (workspace) of 4096 bytes; a kernel @k of that body may be given.
  void parse(const std::string &commands, const std::string &kernel = "") {
    std::string text = "plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 12288 : i64}\n";
    for (auto [name, content] : {std::pair("a", "activations"), {"b", "activations"}, {"w", "workspace"}})
      text += std::string("plan.buffer @") + name + " in @device {content = #plan<content " + content + ">, label = \"\", size_bytes = 4096 : i64}\n";
    module = parseSourceString<ModuleOp>(text + kernel + "plan.section @micro_first {\n" + commands + "\n}", &context);
    ASSERT_TRUE(module);
    section = *module->getOps<plan::SectionOp>().begin();
  }
  static std::string dispatch(const std::string &kernel, const std::string &integers, const std::string &more = "waits []", const std::string &queue = "compute") {
    return "plan.dispatch \"" + kernel + "\" on " + queue + " reads [#plan.slice<@a, 0, 64>] writes [#plan.slice<@b, 0, 128>, #plan.slice<@w, 0, 4096>] " + more +
           " {integers = array<i64" + (integers.empty() ? "" : ": " + integers) + ">, reals = array<f64>}\n";
  }
  int64_t flopsOf(const std::string &kernel, const std::string &integers) {
    parse(dispatch(kernel, integers));
    return CommandCosts(*module).get(&section.getBody().front().front()).flops;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  plan::SectionOp section;
};

TEST_F(Costs, OfLibraryKernels) {
  EXPECT_EQ(flopsOf("matmul", "0, 3, 5, 7, 11, 0, 0, 0, 0, 0, 0, 0, 0"), 2 * 3 * 5 * 7 * 11);
  EXPECT_EQ(flopsOf("matmul", "4, 3, 5, 7, 11, 0, 0, 0, 0, 0, 0, 0, 0"), 0); // integers
  // B 2, T 3, S 5, H 4, G 4, D 8: all pairs, or those of key <= query + 2.
  EXPECT_EQ(flopsOf("attention", "0, 2, 3, 5, 4, 4, 8, 0, 0, 0, 0"), 2 * 4 * 15 * (4 * 8 + 5));
  EXPECT_EQ(flopsOf("attention", "0, 2, 3, 5, 4, 4, 8, 1, 0, 0, 0"), 2 * 4 * (3 + 4 + 5) * (4 * 8 + 5));
  EXPECT_EQ(flopsOf("attention_grad", "0, 2, 3, 5, 4, 4, 8, 1, 0, 0, 0"), 2 * 4 * (3 + 4 + 5) * (10 * 8 + 7));
  // batch 2, channels 6, filters 8, groups 2; 9 x 7 by 3 x 2, strides 2 x 1, pads 1 + 1 and 0, dilations 1 x 3: 5 x 4 positions.
  for (const char *kernel : {"conv", "conv_transpose", "conv_weight_grad"})
    EXPECT_EQ(flopsOf(kernel, "0, 2, 6, 8, 2, 2, 9, 7, 3, 2, 2, 1, 1, 0, 1, 0, 1, 3"), 2 * 2 * 8 * (6 / 2) * (3 * 2) * (5 * 4)) << kernel;
  EXPECT_EQ(flopsOf("sum_pool", "0, 12, 1, 10, 4, 2, 0, 0, 1"), 12 * 4 * 4);
  EXPECT_EQ(flopsOf("max_pool", "0, 12, 1, 3, 4, 2, 0, 0, 1"), 0); // no position
  EXPECT_EQ(flopsOf("scatter_add", "0, 4, 2, 100, 3, 7"), 2 * 3 * 7);
  EXPECT_EQ(flopsOf("scatter", "1, 0, 4, 2, 100, 3, 7"), 2 * 3 * 7);
  EXPECT_EQ(flopsOf("scatter", "0, 0, 4, 2, 100, 3, 7"), 0); // assigns
  EXPECT_EQ(flopsOf("cumsum", "0, 2, 3, 5, 0, 0"), 2 * 3 * 5);
  EXPECT_EQ(flopsOf("sum_squares", "0, 64, 128"), 2 * (64 + 128));
  EXPECT_EQ(flopsOf("gather", "4, 4, 1, 10, 8, 3"), 0);
}

TEST_F(Costs, OfGradientsThatAreZerosButForAFewRows) {
  // A table of 8 rows of 256 bytes in a message of 2112, of which two tokens touch two rows, and those of two ranks four.
  auto omitted = [&](const std::string &between, const std::string &integers) {
    parse("plan.dispatch \"scatter_add\" on compute reads [#plan.slice<@w, 0, 512>, #plan.slice<@w, 512, 16>] writes [#plan.slice<@a, 0, 2048>] waits [] {integers = array<i64: " +
              integers + ">, reals = array<f64>}\n" + between +
              "plan.collective reduce_scatter f32 on reduce <@a, 0, 2112> to <@b, 0, 1056> waits [] {awaited_at = 3 : i64, label = \"b\", sequence = 0 : i64, wire_bytes = 1056 : i64}\n"
              "plan.collective all_gather f32 on reduce <@b, 0, 1056> to <@b, 0, 2112> waits [] {awaited_at = 3 : i64, label = \"b\", sequence = 0 : i64, wire_bytes = 1056 : i64}\n",
          "zero.mesh @dp {size = 2 : i64}\n");
    CommandCosts costs(*module);
    std::vector<int64_t> bytes;
    for (auto collective : section.getOps<plan::CollectiveOp>())
      bytes.push_back(costs.get(collective).omittedBytes);
    return bytes;
  };
  const std::string table = "0, 1, 1, 8, 64, 2";
  // Each row is carried with a block of 64 bytes more, each block has a bit, and half is sent.
  const std::vector<int64_t> expected = {(2048 - 2 * 320 - 4) / 2, (2048 - 4 * 320 - 4) / 2};
  EXPECT_EQ(omitted("", table), expected);
  // A link carries the rest; inside a machine nothing is a message.
  TargetRates rates = getTargetRates();
  auto durations = [&] {
    std::vector<PredictedCommand> times = predictTimeline(section, CommandCosts(*module), rates);
    return std::pair(times[1].duration, times[2].duration);
  };
  const auto inside = durations();
  rates.linkBytesPerSecond = 1000;
  auto [reduce, gather] = durations();
  EXPECT_NEAR(static_cast<double>(reduce), static_cast<double>(1056 - expected[0]) * 1e6 * 1514 / 1448, 1e3);
  EXPECT_NEAR(static_cast<double>(gather), static_cast<double>(1056 - expected[1]) * 1e6 * 1514 / 1448, 1e3);
  omitted("", "0, 1, 1, 8, 64, 5");
  rates.linkBytesPerSecond = 0;
  EXPECT_EQ(durations(), inside);
  // What else is written there is not known; beside it nothing changes.
  EXPECT_EQ(omitted("plan.zero on compute [#plan.slice<@a, 2048, 64>] waits []\n", table), expected);
  EXPECT_EQ(omitted("plan.zero on compute [#plan.slice<@a, 1984, 64>] waits []\n", table), std::vector<int64_t>({0, 0}));
  // Of five rows of eight there is too much to carry; the rows of an inner axis do not lie together.
  EXPECT_EQ(omitted("", "0, 1, 1, 8, 64, 5"), std::vector<int64_t>({0, 0}));
  EXPECT_EQ(omitted("", "0, 1, 2, 4, 64, 1"), std::vector<int64_t>({0, 0}));
}

TEST_F(Costs, SumsOfSquaresHaveRatesByElement) {
  for (int64_t element : {0, 3}) {
    parse(dispatch("sum_squares", std::to_string(element) + ", 64"));
    EXPECT_EQ(CommandCosts(*module).get(&section.getBody().front().front()).element, element);
  }
}

TEST_F(Costs, OfGeneratedKernels) {
  parse(dispatch("k", ""), R"(
plan.kernel @k {body_function = @k_body, items = 1 : i64}
func.func private @k_body(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %i: tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4x8xi32>) {
  %0 = nn.add %x, %y : tensor<4x8xf32>
  %1 = nn.exp %0 : tensor<4x8xf32>
  %2 = nn.reduce sum %1 axes [1] : tensor<4x8xf32> to tensor<4xf32>
  %3 = nn.add %i, %i : tensor<4x8xi32>
  return %2, %3 : tensor<4xf32>, tensor<4x8xi32>
}
)");
  CommandCosts costs(*module);
  Operation *command = &section.getBody().front().front();
  EXPECT_EQ(costs.get(command).flops, 3 * 32);
  EXPECT_EQ(costs.getKind(command), "fused");
  // Workspace is no traffic.
  EXPECT_EQ(costs.get(command).bytesRead, 64);
  EXPECT_EQ(costs.get(command).bytesWritten, 128);
}

TEST_F(Costs, GathersMoveTheRowsThatTheyTake) {
  parse(R"(plan.dispatch "gather" on compute reads [#plan.slice<@a, 0, 4000>, #plan.slice<@w, 0, 24>] writes [#plan.slice<@b, 0, 96>] waits []
    {integers = array<i64: 4, 4, 1, 125, 8, 3>, reals = array<f64>})");
  CommandCost cost = CommandCosts(*module).get(&section.getBody().front().front());
  EXPECT_EQ(cost.bytesRead, 4000); // but for @w, which is workspace here
  EXPECT_EQ(cost.bytesMoved, 96 + 96);
}

TEST_F(Costs, OfKernelsThatGoDownColumns) {
  parse(dispatch("k", ""), R"(
plan.kernel @k {body_function = @k_body, items = 1 : i64}
func.func private @k_body(%x: tensor<4x8xbf16>) -> tensor<8xf32> {
  %0 = nn.cast %x : tensor<4x8xbf16> to tensor<4x8xf32>
  %1 = nn.cast %0 : tensor<4x8xf32> to tensor<4x8xbf16>
  %2 = nn.cast %1 : tensor<4x8xbf16> to tensor<4x8xf32>
  %3 = nn.reduce sum %2 axes [0] : tensor<4x8xf32> to tensor<8xf32>
  return %3 : tensor<8xf32>
}
)");
  CommandCost cost = CommandCosts(*module).get(&section.getBody().front().front());
  EXPECT_EQ(cost.length, 16);
  EXPECT_EQ(cost.arithmetic[static_cast<unsigned>(Arithmetic::Rounding)], 32);
  EXPECT_EQ(cost.arithmetic[static_cast<unsigned>(Arithmetic::Plain)], 3 * 32);
}

TEST_F(Costs, OfAnUpdate) {
  auto kernel = [](const char *decay) {
    return std::string(R"(
plan.kernel @k {body_function = @k_body, items = 1 : i64}
func.func private @k_body(%p: tensor<64xf32>, %g: tensor<64xf32>, %s: tensor<f32>, %lr: tensor<f32>) -> tensor<64xf32> {
  %0 = nn.sgd %p, %g scale %s lr %lr {momentum = 0.0 : f64, weight_decay = )") + decay + R"( : f64} : tensor<64xf32>, tensor<f32>
  return %0 : tensor<64xf32>
}
)";
  };
  parse(dispatch("k", ""), kernel("0.0"));
  EXPECT_EQ(CommandCosts(*module).getKind(&section.getBody().front().front()), "update");
  EXPECT_EQ(CommandCosts(*module).get(&section.getBody().front().front()).flops, 3 * 64);
  parse(dispatch("k", ""), kernel("0.1"));
  EXPECT_EQ(CommandCosts(*module).get(&section.getBody().front().front()).flops, 5 * 64);
}

TEST_F(Costs, CommandsWaitForQueuesEventsAndSubmission) {
  const TargetRates &rates = getTargetRates();
  std::string collective = "plan.collective all_gather f32 on gather <@a, 0, 64> to <@b, 0, 128> waits [] records 0 "
                           "{label = \"b0\", sequence = 0 : i64, wire_bytes = 2000000 : i64}\n";
  std::string reduce = "plan.collective reduce_scatter f32 on reduce <@b, 0, 128> to <@b, 0, 64> staging <@w, 0, 64> waits [1] "
                       "{label = \"b0\", sequence = 0 : i64, wire_bytes = 64 : i64}\n";
  parse(collective + dispatch("matmul", "0, 1, 100, 100, 100, 0, 0, 0, 0, 0, 0, 0, 0") + dispatch("fill", "4, 1, 0", "waits [0] records 1") + reduce +
        dispatch("fill", "4, 1, 0"));
  std::vector<PredictedCommand> times = predictTimeline(section, CommandCosts(*module), rates);
  ASSERT_EQ(times.size(), 5u);
  EXPECT_EQ(times[0].start, 0);
  EXPECT_EQ(times[0].duration, std::llround((rates.collectiveSeconds + 2e6 / rates.wireBytesPerSecond) * 1e9));
  EXPECT_EQ(times[1].start, 0); // beside the gather
  EXPECT_EQ(times[1].duration, std::llround((rates.commandSeconds + 2e6 / rates.productFlopsPerSecond) * 1e9));
  EXPECT_EQ(times[2].start, times[0].end()); // waits for the event
  EXPECT_EQ(times[3].start, times[2].end()); // submitted after it, and waits for its event
  EXPECT_EQ(times[4].start, times[2].end()); // beside the reduction
}

/// A step of 4 ms of computing whose gathers of 10 ms each outlast the update.
TEST_F(Costs, MicroFirstBeginsWithWhatOutlastsTheUpdate) {
  TargetRates rates = getTargetRates();
  rates.machine = "m";
  rates.collectiveSeconds = 0, rates.commandSeconds = 0, rates.wireBytesPerSecond = 1e9, rates.productFlopsPerSecond = 1e9;
  rates.linkBytesPerSecond = 1e8 * 1514 / 1448; // 10 ms a gather, and frames and headers
  auto product = [&](const std::string &waits) { return dispatch("matmul", "0, 1, 100, 100, 100, 0, 0, 0, 0, 0, 0, 0, 0", waits); };
  auto step = [&](const std::string &outlasts) {
    auto gather = [&](int number) {
      return "plan.collective all_gather f32 on gather <@a, 0, 64> to <@b, 0, 128> waits [" + std::to_string(2 * number) + "] records " +
             std::to_string(2 * number + 1) + " {label = \"b0\", sequence = " + std::to_string(number) + " : i64, wire_bytes = 1000000 : i64" + outlasts + "}\n";
    };
    std::string carried = outlasts.empty() ? "" : "carried = array<i64: 3>, ";
    std::string reader = product("waits []");
    reader.insert(reader.find("integers"), carried);
    parse(product("waits []") + reader + "}\nplan.section @update {\n" + product("waits [] records 0") + gather(0) + product("waits [] records 2") + gather(1));
    return predictStep(*module, CommandCosts(*module), rates);
  };
  // The second gather ends 2 + 20 ms after the update's start, 18 ms after its end.
  PredictedStep hidden = step(", outlasts");
  std::vector<PredictedCommand> times = predictTimeline(section, CommandCosts(*module), rates);
  EXPECT_EQ(times[0].start, 0);
  EXPECT_EQ(times[1].start, 18000000);
  EXPECT_EQ(hidden.duration, 20000000 + 4000000);
  EXPECT_EQ(hidden.exposed, 16000000);
  // Awaited in the update, nothing of them is hidden behind the first product of the next step.
  PredictedStep exposed = step("");
  EXPECT_EQ(exposed.duration, 4000000 + 22000000);
  EXPECT_EQ(exposed.exposed, 18000000);
}

TEST_F(Costs, EarlyGathersRunInTheUpdate) {
  TargetRates rates = getTargetRates();
  rates.machine = "m";
  rates.collectiveSeconds = 0, rates.commandSeconds = 0, rates.wireBytesPerSecond = 1e9, rates.productFlopsPerSecond = 1e9;
  rates.linkBytesPerSecond = 1e8 * 1514 / 1448; // 10 ms a gather, and frames and headers
  auto product = [&](const std::string &waits) { return dispatch("matmul", "0, 1, 100, 100, 100, 0, 0, 0, 0, 0, 0, 0, 0", waits); };
  auto gather = [](const std::string &event) {
    return "plan.collective all_gather f32 on gather <@a, 0, 64> to <@b, 0, 128> waits [] records " + event +
           " {early = array<i64: 0>, label = \"b0\", sequence = 0 : i64, wire_bytes = 1000000 : i64}\n";
  };
  const std::string update = "}\nplan.section @update {\n" + product("waits [] records 0") + product("waits []");
  parse(gather("0") + product("waits [0]") + update);
  // From 2 ms after the update's start to 8 ms after its end.
  std::vector<PredictedCommand> times = predictTimeline(section, CommandCosts(*module), rates);
  EXPECT_EQ(times[0].start, 0);
  EXPECT_EQ(times[0].duration, 8000000);
  EXPECT_EQ(times[1].start, 8000000);
  PredictedStep step = predictStep(*module, CommandCosts(*module), rates);
  EXPECT_EQ(step.duration, 10000000 + 4000000);
  EXPECT_EQ(step.exposed, 8000000);
  // The next one has not begun where the update ends: it follows the first.
  parse(gather("0") + gather("1") + product("waits [0]") + update);
  times = predictTimeline(section, CommandCosts(*module), rates);
  EXPECT_EQ(times[0].duration, 8000000);
  EXPECT_EQ(times[1].start, 8000000);
  EXPECT_EQ(times[1].duration, 10000000);
  EXPECT_EQ(times[2].start, 8000000);
}

} // namespace
} // namespace zero
