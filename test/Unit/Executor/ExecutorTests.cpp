//===- ExecutorTests.cpp - The tiny program, run on loopback --------------===//
#include "test/Unit/Support/TinyProgram.h"
#include "zero/Runtime/Executor/Executor.h"
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <random>

static std::atomic<bool> countsAllocations = false;
static std::atomic<int> allocations = 0;

#if __has_feature(thread_sanitizer)
static constexpr bool kSeesRaces = true; // and ends the process at the first one
#else
static constexpr bool kSeesRaces = false;
#endif

// Sanitizers count themselves.
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
static constexpr bool kSeesAllocations = false;
#else
static constexpr bool kSeesAllocations = true;

void *operator new(size_t size) {
  if (countsAllocations.load(std::memory_order_relaxed))
    ++allocations;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace zero {
namespace {

struct StepRecord {
  StepResults results;
  Traffic traffic;
};

struct Outcome {
  int exitCode = 0;
  std::vector<std::string> reports;
  std::vector<StepRecord> steps; ///< of rank 0
  std::vector<float> weights;    ///< of all ranks, in order
  uint64_t deviceBytes = 0;
};

class TinyRun : public testing::Test {
protected:
  Outcome run(uint32_t programRanks, unsigned ranks, unsigned threads = 1, unsigned steps = 3,
              const std::function<void(schema::PlanT &)> &damage = {}, uint64_t delaySeed = 0) {
    std::string path = folder.file("tiny.bin");
    EXPECT_TRUE(test::writeTinyProgram(path, programRanks, ZERO_TINY_KERNELS, damage).ok());
    Outcome outcome;
    outcome.weights.resize(64 * programRanks);
    JobOptions options;
    options.report = [&](const Status &status) { outcome.reports.push_back(status.message()); };
    outcome.exitCode = runLoopback(ranks, options, [&](Bootstrap &bootstrap) -> Status {
      ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
      ExecutorOptions executorOptions;
      executorOptions.threads = threads;
      executorOptions.delaySeed = delaySeed;
      ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, bootstrap, executorOptions));
      Status status = steady(*executor, bootstrap, steps, outcome);
      if (!status.ok())
        bootstrap.abort(status);
      return status;
    });
    return outcome;
  }

  static Status steady(Executor &executor, Bootstrap &bootstrap, unsigned steps, Outcome &outcome) {
    uint64_t elements = 64 * bootstrap.size();
    Traffic before;
    std::vector<StepRecord> records;
    records.reserve(steps);
    for (unsigned step = 0; step < steps; ++step) {
      auto *x = static_cast<float *>(executor.input(0));
      for (uint64_t i = 0; i < elements; ++i)
        x[i] = test::tinySample(step * bootstrap.size() + bootstrap.rank(), i);
      ZERO_RETURN_IF_ERROR(executor.runMicroBatch(0));
      ZERO_RETURN_IF_ERROR(executor.runUpdate(step + 1, /*followed=*/step + 1 < steps));
      ZERO_RETURN_IF_ERROR(executor.awaitUpdate());
      Traffic after = executor.traffic();
      records.push_back({executor.results(),
                         {after.allGather - before.allGather, after.reduceScatter - before.reduceScatter,
                          after.control - before.control}});
      before = after;
    }
    Executor::Parameters mine = executor.parameters(0);
    ZERO_ASSIGN_OR_RETURN(const std::byte *data, executor.readParameters(0, 0, mine.bytes));
    std::memcpy(outcome.weights.data() + bootstrap.rank() * 64, data, mine.bytes);
    if (bootstrap.rank() == 0)
      outcome.steps = records, outcome.deviceBytes = executor.deviceBytes();
    return {};
  }

  test::TemporaryFolder folder;
};

TEST_F(TinyRun, TrainsAsArithmeticSays) {
  for (uint32_t ranks : {1u, 2u, 3u}) {
    Outcome outcome = run(ranks, ranks);
    ASSERT_EQ(outcome.exitCode, 0) << outcome.reports[0];
    uint64_t elements = 64 * ranks;
    std::vector<float> weights(elements);
    for (uint64_t i = 0; i < elements; ++i)
      weights[i] = test::tinyWeight(i);
    for (unsigned step = 0; step < 3; ++step) {
      double loss = 0, squares = 0;
      for (uint64_t i = 0; i < elements; ++i) {
        float gradient = test::tinySample(step * ranks, i);
        for (uint32_t rank = 1; rank < ranks; ++rank)
          gradient += test::tinySample(step * ranks + rank, i);
        for (uint32_t rank = 0; rank < ranks; ++rank)
          loss += double(weights[i]) * test::tinySample(step * ranks + rank, i);
        squares += double(gradient) * gradient;
        weights[i] = weights[i] - 0.5f * gradient;
      }
      const StepRecord &record = outcome.steps[step];
      EXPECT_NEAR(record.results.loss, loss, 1e-4 * (1 + std::fabs(loss)));
      EXPECT_NEAR(record.results.gradNorm, std::sqrt(squares), 1e-5 * std::sqrt(squares));
      EXPECT_EQ(record.results.labelCount, ranks);
      EXPECT_EQ(record.traffic.allGather, 4 * elements / ranks * (ranks - 1));
      EXPECT_EQ(record.traffic.reduceScatter, 4 * elements / ranks * (ranks - 1));
      EXPECT_EQ(record.traffic.control, (24 * 8 + 4 + 8) * (ranks - 1));
    }
    for (uint64_t i = 0; i < elements; ++i) // the kernel may fuse its multiply and add, as this code may
      EXPECT_NEAR(outcome.weights[i], weights[i], 1e-6);
    EXPECT_EQ(outcome.deviceBytes, test::makeTinyPlan(ranks).plan.arenas[0]->size_bytes);
  }
}

TEST_F(TinyRun, ThreadsAndRepetitionChangeNoBit) {
  Outcome first = run(3, 3);
  for (unsigned threads : {1u, 2u, 4u}) {
    Outcome again = run(3, 3, threads);
    ASSERT_EQ(again.exitCode, 0) << again.reports[0];
    EXPECT_EQ(std::memcmp(again.weights.data(), first.weights.data(), first.weights.size() * 4), 0);
    for (size_t i = 0; i < first.steps.size(); ++i) {
      EXPECT_EQ(again.steps[i].results.loss, first.steps[i].results.loss);
      EXPECT_EQ(again.steps[i].results.gradNorm, first.steps[i].results.gradNorm);
    }
  }
}

/// Whatever starts late, events and the ends of sections keep the order. Without the event that the reduction waits for, or the dot
/// product, the same delays change the numbers: they would bring a race to light.
TEST_F(TinyRun, DelaysChangeNoBitWhereEventsOrder) {
  auto numbers = [&](uint64_t seed, const std::function<void(schema::PlanT &)> &damage) {
    Outcome outcome = run(3, 3, 1, 10, damage, seed);
    EXPECT_EQ(outcome.exitCode, 0);
    for (const StepRecord &step : outcome.steps)
      outcome.weights.push_back(step.results.loss);
    return outcome.weights;
  };
  const std::vector<float> right = numbers(0, {});
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(numbers(seed, {}), right) << "seed " << seed;
  if (kSeesRaces)
    GTEST_SKIP() << "the second half makes races, which ThreadSanitizer reports";
  for (size_t command : {2, 3}) {
    unsigned differ = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed)
      differ += numbers(seed, [&](schema::PlanT &plan) { plan.sections[0]->commands[command]->waits = {}; }) != right;
    EXPECT_GT(differ, 0u) << "command " << command;
  }
}

/// Changes a number of the plan that says where bytes are, who runs when, or how far a kernel goes.
void damageOneNumber(schema::PlanT &plan, std::mt19937 &random) {
  auto change = [&](auto &number) {
    using Number = std::remove_reference_t<decltype(number)>;
    const uint64_t values[] = {0, 1, 2, 3, 4, 63, 64, 255, 256, 1u << 20, uint64_t(1) << 40, ~uint64_t(0), uint64_t(number) + 1,
                               uint64_t(number) - 1, uint64_t(number) + 64, uint64_t(number) * 2, uint64_t(number) / 2};
    number = static_cast<Number>(values[random() % std::size(values)]);
  };
  auto changeSlice = [&](schema::Slice &slice) {
    uint64_t fields[] = {slice.buffer(), slice.offset(), slice.size(), slice.rank_stride()};
    change(fields[random() % 4]);
    for (size_t field : {1, 3}) // no record says how elements are aligned
      fields[field] &= ~uint64_t(7);
    slice = schema::Slice(static_cast<uint32_t>(fields[0]), fields[1], fields[2], fields[3]);
  };
  if (random() % 8 == 0) {
    schema::BufferT &buffer = *plan.buffers[random() % plan.buffers.size()];
    uint64_t *fields[] = {&buffer.offset,           &buffer.size_bytes,      &plan.arenas[0]->size_bytes,
                          &plan.buckets[0]->elements, &plan.kernels[5]->items, &plan.kernels[5]->slice_bytes[0]};
    return change(*fields[random() % std::size(fields)]);
  }
  auto &section = *plan.sections[random() % plan.sections.size()];
  schema::CommandT &command = *section.commands[random() % section.commands.size()];
  switch (random() % 4) {
  case 0:
    if (!command.waits.empty())
      return change(command.waits[0]);
    return change(command.record);
  case 1:
    command.queue = static_cast<schema::QueueKind>(random() % 3);
    return;
  default:
    break;
  }
  if (schema::DispatchT *dispatch = command.action.AsDispatch()) {
    auto &slices = dispatch->writes.empty() || random() % 2 ? dispatch->reads : dispatch->writes;
    if (random() % 3 == 0)
      change(dispatch->kernel);
    else if (!dispatch->integers.empty() && random() % 2)
      change(dispatch->integers[random() % dispatch->integers.size()]);
    else if (!slices.empty())
      changeSlice(slices[random() % slices.size()]);
  } else if (schema::CollectiveT *collective = command.action.AsCollective()) {
    std::unique_ptr<schema::Slice> *slices[] = {&collective->source, &collective->target, &collective->staging};
    if (auto &slice = *slices[random() % 3])
      changeSlice(*slice);
  }
}

/// With its checksums right, a plan whose numbers are not is refused or runs to its end: nothing crashes and nobody
/// waits for ever.
TEST_F(TinyRun, DamagedPlansAreRefusedOrHarmless) {
  if (kSeesRaces)
    GTEST_SKIP() << "damaged plans race, which ThreadSanitizer reports";
  std::mt19937 random(5);
  int refused = 0, ran = 0;
  for (int i = 0; i < 1500; ++i) {
    Outcome outcome = run(2, 2, 1, 1, [&](schema::PlanT &plan) {
      damageOneNumber(plan, random);
      if (random() % 2)
        damageOneNumber(plan, random);
    });
    EXPECT_TRUE(outcome.exitCode == 0 || outcome.exitCode == 1 || outcome.exitCode == 3) << outcome.reports[0];
    ++(outcome.exitCode ? refused : ran);
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(ran, 100);
}

TEST_F(TinyRun, AStepAllocatesNothing) {
  if (!kSeesAllocations)
    GTEST_SKIP() << "a sanitizer allocates";
  // Without the matmul: oneDNN makes small lists of its own at each call.
  std::string path = folder.file("tiny.bin");
  auto withoutMatmul = [](schema::PlanT &plan) {
    auto &commands = plan.sections[0]->commands;
    commands.erase(commands.begin() + 3);
  };
  ASSERT_TRUE(test::writeTinyProgram(path, 2, ZERO_TINY_KERNELS, withoutMatmul).ok());
  JobOptions options;
  int exitCode = runLoopback(2, options, [&](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, bootstrap, {}));
    for (uint64_t step = 1; step <= 20; ++step) {
      if (step == 3) { // after what a first use may allocate
        ZERO_RETURN_IF_ERROR(bootstrap.agree({}));
        countsAllocations = true;
      }
      ZERO_RETURN_IF_ERROR(executor->runMicroBatch(0));
      ZERO_RETURN_IF_ERROR(executor->runUpdate(step));
    }
    countsAllocations = false;
    return {};
  });
  EXPECT_EQ(exitCode, 0);
  EXPECT_EQ(allocations, 0);
}

TEST_F(TinyRun, NamesKernelsThatDoNotLoadAndSectionsThatAreNotThere) {
  std::string path = folder.file("tiny.bin"), noObject = folder.file("kernels.so");
  test::writeFile(noObject, "no shared object, but as long as the header of one, which is what the loader reads first");
  ASSERT_TRUE(test::writeTinyProgram(path, 1, noObject).ok());
  auto container = Container::open(path);
  ASSERT_TRUE(container.ok());
  std::string message;
  JobOptions options;
  options.report = [&](const Status &status) { message = status.message(); };
  EXPECT_EQ(runLoopback(1, options, [&](Bootstrap &bootstrap) { return Executor::create(*container, bootstrap, {}).status(); }), 3);
  EXPECT_NE(message.find("the kernels of '" + path + "' do not load: "), std::string::npos) << message;

  ASSERT_TRUE(test::writeTinyProgram(path, 1, ZERO_TINY_KERNELS).ok());
  container = Container::open(path);
  ASSERT_TRUE(container.ok());
  int exitCode = runLoopback(1, options, [&](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(*container, bootstrap, {}));
    return executor->runPredict();
  });
  EXPECT_EQ(exitCode, 3);
  EXPECT_EQ(message, "the plan has no section 'predict'");
}

TEST_F(TinyRun, RefusesAnotherWorldSizeOnAllRanks) {
  Outcome outcome = run(2, 3);
  EXPECT_EQ(outcome.exitCode, 3);
  ASSERT_EQ(outcome.reports.size(), 1u);
  EXPECT_NE(outcome.reports[0].find("is compiled for 2 ranks, this job has 3"), std::string::npos);
  EXPECT_NE(outcome.reports[0].find("recompile with: zero-compile tiny.onnx --world-size=3 -o "), std::string::npos)
      << outcome.reports[0];
}

TEST_F(TinyRun, NamesWhatCannotBeBound) {
  struct {
    const char *message;
    std::function<void(schema::PlanT &)> damage;
  } faults[] = {
      {"unknown kernel 'matmull'", [](schema::PlanT &p) { p.kernels[1]->name = "matmull"; }},
      {"the kernel objects have no kernel 'ascend'", [](schema::PlanT &p) { p.kernels[5]->name = "ascend"; }},
      {"kernel 'descend' takes 64 items in slices of 256, 256, 4, 4, 256 bytes, the plan says 65 items in slices of 256, 256, 4, 4, 256 bytes",
       [](schema::PlanT &p) { p.kernels[5]->items = 65; }},
      {"kernel 'matmul' reaches over 512 bytes of slice 0, which has 508",
       [](schema::PlanT &p) {
         auto &read = p.sections[0]->commands[3]->action.AsDispatch()->reads[0];
         read = schema::Slice(read.buffer(), 4, 508, 0);
       }},
      {"kernel 'matmul' has slice 2 of 4 bytes in the ",
       [](schema::PlanT &p) {
         auto &writes = p.sections[0]->commands[3]->action.AsDispatch()->writes;
         writes[0] = schema::Slice(writes[1].buffer(), 128, 4, 0);
       }},
      {"kernel 'norm' takes 2 slices, the plan gives 3",
       [](schema::PlanT &p) {
         auto &reads = p.sections[1]->commands[2]->action.AsDispatch()->reads;
         reads.push_back(reads[0]);
       }},
  };
  for (auto &fault : faults) {
    Outcome outcome = run(2, 2, 1, 1, fault.damage);
    EXPECT_EQ(outcome.exitCode, 3);
    ASSERT_EQ(outcome.reports.size(), 1u);
    EXPECT_NE(outcome.reports[0].find(fault.message), std::string::npos) << outcome.reports[0];
  }
}

TEST_F(TinyRun, RefusesAProgramWithoutKernelsForThisCpu) {
  std::string path = folder.file("other.bin");
  test::TinyPlan tiny = test::makeTinyPlan(1);
  ContainerWriter writer;
  writer.addSection(SectionKind::Plan, "", test::serialize(tiny.plan));
  writer.addSection(SectionKind::Weights, "", std::string(tiny.elements * 4, '\0'));
  ASSERT_TRUE(writer.write(path).ok());
  std::string message;
  JobOptions options;
  options.report = [&](const Status &status) { message = status.message(); };
  int exitCode = runLoopback(1, options, [&](Bootstrap &bootstrap) -> Status {
    ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
    return Executor::create(container, bootstrap, {}).status();
  });
  EXPECT_EQ(exitCode, 3);
  EXPECT_NE(message.find("has no kernels for this kind of CPU; recompile with: zero-compile tiny.onnx"), std::string::npos)
      << message;
}

/// Its first gather starts in the update before, behind `descend`.
void startEarly(schema::PlanT &plan) {
  plan.sections[1]->events = 1;
  plan.sections[1]->commands.back()->record = 0;
  plan.sections[0]->commands[0]->early = {0};
}

TEST_F(TinyRun, AnEarlyGatherChangesNothing) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Outcome expected = run(3, 3, 1, 4), early = run(3, 3, 1, 4, startEarly, seed);
    ASSERT_EQ(early.exitCode, 0) << early.reports[0];
    EXPECT_EQ(early.weights, expected.weights);
    for (unsigned step = 0; step < 4; ++step) {
      EXPECT_EQ(early.steps[step].results.loss, expected.steps[step].results.loss);
      // Bytes are counted in the step whose micro-batch takes them.
      EXPECT_EQ(early.steps[step].traffic.allGather, expected.steps[step].traffic.allGather);
    }
  }
}

/// Reading the weights back in between, and an update that was to be followed by a micro-batch and is not.
TEST_F(TinyRun, AnEarlyGatherIsRepeatedWhereSomethingComesBetween) {
  std::string path = folder.file("tiny.bin");
  ASSERT_TRUE(test::writeTinyProgram(path, 2, ZERO_TINY_KERNELS, startEarly).ok());
  std::array<float, 4> losses[2];
  for (bool reads : {false, true}) {
    int exitCode = runLoopback(2, JobOptions(), [&](Bootstrap &bootstrap) -> Status {
      ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
      ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, bootstrap, {}));
      for (unsigned step = 0; step < 4; ++step) {
        auto *x = static_cast<float *>(executor->input(0));
        for (uint64_t i = 0; i < 128; ++i)
          x[i] = test::tinySample(step * 2 + bootstrap.rank(), i);
        ZERO_RETURN_IF_ERROR(executor->runMicroBatch(0));
        ZERO_RETURN_IF_ERROR(executor->runUpdate(step + 1, /*followed=*/true));
        ZERO_RETURN_IF_ERROR(executor->awaitUpdate());
        if (bootstrap.rank() == 0)
          losses[reads][step] = executor->results().loss;
        if (reads && step % 2)
          ZERO_RETURN_IF_ERROR(executor->finish());
      }
      EXPECT_EQ(executor->peakGatheredElements(), 128u);
      return executor->finish();
    });
    EXPECT_EQ(exitCode, 0);
  }
  EXPECT_EQ(losses[0], losses[1]);
}

/// A channel that says of each collective that it sent a byte more.
class OneByteMore final : public Channel {
public:
  explicit OneByteMore(std::unique_ptr<Channel> channel) : channel(std::move(channel)) {}
  Status allGather(const void *source, void *target, uint64_t bytes) override { return count(channel->allGather(source, target, bytes)); }
  Status reduceScatter(const void *source, FloatType element, void *target, FloatType targetElement, uint64_t elements, void *staging) override {
    return count(channel->reduceScatter(source, element, target, targetElement, elements, staging));
  }
  Status sum(const float *source, float *target, uint64_t elements, void *staging) override { return count(channel->sum(source, target, elements, staging)); }
  Status sum(const int64_t *source, int64_t *target, uint64_t elements, void *staging) override { return count(channel->sum(source, target, elements, staging)); }
  uint64_t bytesSent() const override { return channel->bytesSent() + more; }

private:
  Status count(Status status) {
    ++more;
    return status;
  }
  std::unique_ptr<Channel> channel;
  uint64_t more = 0;
};

class WrongCounts final : public Bootstrap {
public:
  explicit WrongCounts(Bootstrap &bootstrap) : bootstrap(bootstrap) {}
  unsigned rank() const override { return bootstrap.rank(); }
  unsigned size() const override { return bootstrap.size(); }
  Failure &failure() override { return bootstrap.failure(); }
  JobView &view() override { return bootstrap.view(); }
  double timeoutSeconds() const override { return bootstrap.timeoutSeconds(); }
  Status broadcast(void *data, uint64_t size, unsigned root) override { return bootstrap.broadcast(data, size, root); }
  Expected<std::vector<std::string>> allGather(const std::string &mine) override { return bootstrap.allGather(mine); }
  Expected<std::unique_ptr<Channel>> createChannel() override {
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, bootstrap.createChannel());
    return std::unique_ptr<Channel>(std::make_unique<OneByteMore>(std::move(channel)));
  }
  void abort(const Status &error) override { bootstrap.abort(error); }

private:
  Bootstrap &bootstrap;
};

/// Traffic is counted when a collective is submitted: what it sends must be that.
TEST_F(TinyRun, ACollectiveThatSendsOtherBytesFails) {
  std::string path = folder.file("tiny.bin");
  ASSERT_TRUE(test::writeTinyProgram(path, 2, ZERO_TINY_KERNELS).ok());
  std::string message;
  JobOptions options;
  options.report = [&](const Status &status) { message = status.message(); };
  int exitCode = runLoopback(2, options, [&](Bootstrap &bootstrap) -> Status {
    WrongCounts wrong(bootstrap);
    ZERO_ASSIGN_OR_RETURN(Container container, Container::open(path));
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(container, wrong, {}));
    std::memset(executor->input(0), 0, 512);
    Status status = executor->runMicroBatch(0);
    if (!status.ok())
      bootstrap.abort(status);
    return status;
  });
  EXPECT_EQ(exitCode, 1);
  EXPECT_NE(message.find("sent 257 bytes, but the plan says 256"), std::string::npos) << message;
}

} // namespace
} // namespace zero
