//===- OrderTests.cpp - plan-verify against brute force, and its time -----===//
#include "OrderOracle.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Transforms/Plan/Passes.h"
#include "mlir/Pass/PassManager.h"
#include <chrono>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace zero::test {
namespace {

/// A plan of one section whose buffers are frozen tensors: what is read always holds something, so that order alone can fail.
class RandomPlan {
public:
  RandomPlan(MLIRContext *context, int64_t buffers, unsigned seed) : builder(context), random(seed) {
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    plan::ArenaOp::create(builder, loc(), "device", plan::MemoryKind::device, buffers * 256);
    for (int64_t i = 0; i < buffers; ++i) {
      std::string name = "b" + std::to_string(i);
      plan::BufferOp::create(builder, loc(), name, "device", 256, builder.getI64IntegerAttr(i * 256), plan::ContentClass::parameters,
                             0, true, name);
      plan::StateOp::create(builder, loc(), "frozen", name, getSlice(i, 0, 256), false, /*element=*/TypeAttr(), Attribute());
      names.push_back(name);
    }
    section = plan::SectionOp::create(builder, loc(), "micro_first");
    builder.setInsertionPointToStart(&section.getBody().emplaceBlock());
  }

  /// Commands of one to three slices on any queue; each touches few of the buffers, so that queues run far apart.
  void addCommands(int count) {
    for (int i = 0; i < count; ++i) {
      SmallVector<Attribute> reads, writes;
      for (int slices = 1 + random() % 3; slices; --slices) {
        int64_t begin = 64 * (random() % 4), end = begin + 64 * (1 + random() % (4 - begin / 64));
        (random() % 3 ? reads : writes).push_back(getSlice(random() % names.size(), begin, end - begin));
      }
      add(static_cast<plan::QueueKind>(random() % 3), reads, writes);
    }
  }
  void add(plan::QueueKind queue, ArrayRef<Attribute> reads, ArrayRef<Attribute> writes) {
    plan::DispatchOp::create(builder, loc(), queue, ArrayRef<int64_t>(), IntegerAttr(), "f", builder.getArrayAttr(reads),
                             builder.getArrayAttr(writes), ArrayRef<int64_t>(), ArrayRef<double>());
  }
  plan::SliceAttr getSlice(int64_t buffer, int64_t offset, int64_t size) {
    return plan::SliceAttr::get(builder.getContext(), FlatSymbolRefAttr::get(builder.getContext(), "b" + std::to_string(buffer)), offset,
                                size, 0);
  }

  bool run(std::unique_ptr<Pass> pass) {
    PassManager passes(builder.getContext());
    passes.addPass(std::move(pass));
    ScopedDiagnosticHandler quiet(builder.getContext(), [](Diagnostic &) { return success(); });
    return succeeded(passes.run(*module));
  }
  void insertEvents() { ASSERT_TRUE(run(createPlanInsertEvents())); }
  bool isAccepted() { return run(createPlanVerify()); }
  std::vector<plan::DispatchOp> getCommands() { return {section.getOps<plan::DispatchOp>().begin(), section.getOps<plan::DispatchOp>().end()}; }

  Location loc() { return builder.getUnknownLoc(); }
  OpBuilder builder;
  std::mt19937 random;
  OwningOpRef<ModuleOp> module;
  plan::SectionOp section;
  std::vector<std::string> names;
};

TEST(Order, InsertedEventsAreRightAndMinimal) {
  MLIRContext context;
  context.loadDialect<plan::PlanDialect, sharding::ZeroDialect>();
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomPlan plan(&context, 1 + seed % 12, seed);
    plan.addCommands(2 + seed % 60);
    plan.insertEvents();
    EXPECT_EQ(findDisorder(plan.section), "") << "seed " << seed;
    EXPECT_TRUE(plan.isAccepted()) << "seed " << seed;
  }
}

/// Plans whose events are changed at random: each verdict is the brute force's.
TEST(Order, VerdictsAreThoseOfBruteForce) {
  MLIRContext context;
  context.loadDialect<plan::PlanDialect, sharding::ZeroDialect>();
  unsigned accepted = 0, refused = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomPlan plan(&context, 2 + seed % 9, seed);
    plan.addCommands(3 + seed % 20);
    plan.insertEvents();
    std::vector<plan::DispatchOp> commands = plan.getCommands();
    for (unsigned changes = 1 + seed % 2; changes; --changes) {
      plan::DispatchOp command = commands[plan.random() % commands.size()], other = commands[plan.random() % commands.size()];
      SmallVector<int64_t> waits(command.getWaits());
      switch (plan.random() % 4) {
      case 0:
        if (!waits.empty())
          waits.erase(waits.begin() + plan.random() % waits.size());
        break;
      case 1:
        waits.push_back(plan.random() % 6);
        break;
      case 2:
        command->moveBefore(other);
        break;
      case 3:
        command.setQueue(static_cast<plan::QueueKind>(plan.random() % 3));
        break;
      }
      command.setWaits(waits);
    }
    std::string disorder = findDisorder(plan.section);
    EXPECT_EQ(plan.isAccepted(), disorder.empty()) << "seed " << seed << ": " << disorder;
    ++(disorder.empty() ? accepted : refused);
  }
  // Both verdicts are there to be held against.
  EXPECT_GT(accepted, 300u);
  EXPECT_GT(refused, 300u);
}

/// Seconds that plan-verify takes for a plan of `count` commands in which gathers run ahead, buckets and activations are used
/// again and again, and gradients are written slot by slot and reduced as one.
double timeOf(int count) {
  MLIRContext context;
  context.loadDialect<plan::PlanDialect, sharding::ZeroDialect>();
  constexpr int kBuffers = 64;
  RandomPlan plan(&context, kBuffers, 0);
  for (int i = 0; i < count; i += 5) {
    int bucket = i / 5 % 8, gradient = 8 + i / 5 % 8, in = 16 + i / 5 % 48, out = 16 + (i / 5 + 1) % 48;
    plan.add(plan::QueueKind::gather, {}, {plan.getSlice(bucket, 0, 256)});
    plan.add(plan::QueueKind::compute, {plan.getSlice(bucket, 0, 128), plan.getSlice(in, 0, 256)}, {plan.getSlice(out, 0, 256)});
    plan.add(plan::QueueKind::compute, {plan.getSlice(bucket, 128, 128), plan.getSlice(out, 0, 256)}, {plan.getSlice(gradient, 0, 128)});
    plan.add(plan::QueueKind::compute, {plan.getSlice(out, 0, 256)}, {plan.getSlice(gradient, 128, 128)});
    plan.add(plan::QueueKind::reduce, {plan.getSlice(gradient, 0, 256)}, {plan.getSlice(gradient, 0, 128)});
  }
  plan.insertEvents();
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(plan.isAccepted());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

TEST(Order, TimeGrowsWithTheCommands) {
  double few = timeOf(10000), many = timeOf(100000);
  RecordProperty("seconds_10000_commands", std::to_string(few));
  RecordProperty("seconds_100000_commands", std::to_string(many));
  std::printf("plan-verify: 10000 commands %.3f s, 100000 commands %.3f s\n", few, many);
  EXPECT_LT(many / few, 30) << "10 times the commands"; // n^2 would be 100
}

} // namespace
} // namespace zero::test
