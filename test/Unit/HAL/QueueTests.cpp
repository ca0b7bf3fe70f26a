//===- QueueTests.cpp - Arenas, queues and events of a CPU ----------------===//
#include "zero/Runtime/HAL/Device.h"
#include <gtest/gtest.h>
#include <functional>
#include <thread>

namespace zero {
namespace {

class Call final : public Work {
public:
  explicit Call(std::function<Status()> body) : body(std::move(body)) {}
  Status run() override { return body(); }

private:
  std::function<Status()> body;
};

TEST(CpuArena, IsZeroedAndAligned) {
  auto arena = createCpuDevice()->allocate("device", 10000);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ((*arena)->size(), 10000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*arena)->data()) % 4096, 0u);
  for (int i = 0; i < 10000; ++i)
    ASSERT_EQ((*arena)->data()[i], std::byte(0));
  EXPECT_TRUE(createCpuDevice()->allocate("empty", 0).ok());
}

TEST(CpuArena, SaysHowMuchThereIs) {
  Status status = createCpuDevice()->allocate("device", uint64_t(1) << 46).status();
  EXPECT_EQ(status.code(), ErrorCode::ProgramFailed);
  EXPECT_NE(status.message().find("arena 'device' of 70368744177664 bytes does not fit: this machine has"), std::string::npos)
      << status.message();
}

TEST(CpuQueue, EventsOrderQueues) {
  auto device = createCpuDevice();
  Failure failure;
  auto gather = device->createQueue({"gather", 8}, failure), reduce = device->createQueue({"reduce", 8}, failure);
  auto compute = device->createQueue({"compute", 8, /*onCallingThread=*/true}, failure);
  auto gathered = device->createEvent(), computed = device->createEvent();
  int value = 0, seen = 0;
  Call fetch([&] { return value = value + 1, Status(); }), square([&] { return value *= value, Status(); }),
      read([&] { return seen = value, Status(); });
  for (uint64_t instance = 1; instance <= 200; ++instance) {
    value = 9;
    gather->submit(fetch);
    gather->record(*gathered, instance);
    reduce->wait(*computed, instance);
    reduce->submit(read);
    compute->wait(*gathered, instance);
    compute->submit(square);
    compute->record(*computed, instance);
    for (Queue *queue : {gather.get(), reduce.get(), compute.get()})
      queue->finish();
    ASSERT_EQ(seen, 100);
  }
  EXPECT_FALSE(failure.raised());
}

TEST(CpuQueue, CountsTheTimeInItsWaits) {
  auto device = createCpuDevice();
  Failure failure;
  auto gather = device->createQueue({"gather", 8}, failure), compute = device->createQueue({"compute", 8, /*onCallingThread=*/true}, failure);
  auto gathered = device->createEvent();
  Call nap([] { return std::this_thread::sleep_for(std::chrono::milliseconds(60)), Status(); });
  gather->submit(nap);
  gather->record(*gathered, 1);
  compute->submit(nap); // hides it
  gather->finish();
  compute->wait(*gathered, 1);
  int64_t hidden = compute->waitedNanoseconds();
  gather->submit(nap);
  gather->record(*gathered, 2);
  compute->wait(*gathered, 2);
  gather->finish(); // it may still be in the event
  EXPECT_GE(compute->waitedNanoseconds() - hidden, 30'000'000);
  EXPECT_LT(hidden, 30'000'000);
  EXPECT_EQ(gather->waitedNanoseconds(), 0);
}

TEST(CpuQueue, AFailureEndsEveryWait) {
  auto device = createCpuDevice();
  Failure failure;
  auto first = device->createQueue({"first", 4}, failure), second = device->createQueue({"second", 4}, failure);
  auto never = device->createEvent();
  bool ran = false;
  Call fail([] { return Status::badInput("first"); }), mark([&] { return ran = true, Status(); });
  second->wait(*never, 1);
  second->submit(mark);
  first->submit(fail);
  first->record(*never, 1);
  first->finish();
  second->finish();
  EXPECT_FALSE(ran);
  failure.raise(Status::programFailed("later"));
  EXPECT_EQ(failure.status().message(), "first");
}

TEST(CpuQueue, AFullRingBlocksTheSubmitter) {
  auto device = createCpuDevice();
  Failure failure;
  auto queue = device->createQueue({"small", 1}, failure);
  int count = 0;
  Call increment([&] { return ++count, Status(); });
  for (int i = 0; i < 1000; ++i)
    queue->submit(increment);
  queue->finish();
  EXPECT_EQ(count, 1000);
}

} // namespace
} // namespace zero
