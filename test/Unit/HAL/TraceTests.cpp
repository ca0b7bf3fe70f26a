//===- TraceTests.cpp - What the trace device shows -----------------------===//
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Device.h"
#include <gtest/gtest.h>
#include <sstream>

namespace zero {
namespace {

class Described final : public Work {
public:
  explicit Described(WorkDescription description) : description(std::move(description)) {}
  Status run() override { return ++ran, Status(); }
  WorkDescription describe() const override { return description; }
  int ran = 0;

private:
  WorkDescription description;
};

TEST(TraceDevice, ShowsWhatIsSubmittedAndRunsNothing) {
  std::ostringstream out;
  auto device = createTraceDevice(out);
  EXPECT_FALSE(device->runs());
  auto arena = device->allocate("device", 4096);
  ASSERT_TRUE(arena.ok());
  Failure failure;
  auto queue = device->createQueue({"gather", 4}, failure);
  auto event = device->createEvent("s.e0");
  Described work({"s 0", "all_gather b0", 64, {{(*arena)->data() + 128, 64, "w", false}, {(*arena)->data(), 128, "full", true}}});
  queue->wait(*event, 1);
  queue->submit(work);
  queue->record(*event, 1);
  queue->finish();
  EXPECT_EQ(work.ran, 0);
  EXPECT_EQ(out.str(), "arena device 4096 bytes\nqueue gather\ngather waits for s.e0\n"
                       "gather runs s 0: all_gather b0, sends 64 bytes; reads %w device[128, 192); writes %full device[0, 128)\n"
                       "gather records s.e0\ngather finishes\n");
}

TEST(TraceDevice, SaysWhoseBytesAreUsedAgain) {
  std::ostringstream out;
  auto device = createTraceDevice(out);
  auto arena = device->allocate("device", 1024);
  ASSERT_TRUE(arena.ok());
  Failure failure;
  auto queue = device->createQueue({"compute", 4, /*onCallingThread=*/true}, failure);
  auto write = [&](uint64_t begin, uint64_t size, const char *buffer) {
    out.str("");
    Described work({"s 0", "fill", 0, {{(*arena)->data() + begin, size, buffer, true}}});
    queue->submit(work);
    return out.str().substr(out.str().find("writes"));
  };
  EXPECT_EQ(write(0, 256, "a"), "writes %a device[0, 256)\n");
  EXPECT_EQ(write(256, 128, "b"), "writes %b device[256, 384)\n");
  EXPECT_EQ(write(64, 64, "a"), "writes %a device[64, 128)\n");
  EXPECT_EQ(write(128, 192, "c"), "writes %c device[128, 320) over %a and %b\n");
  EXPECT_EQ(write(320, 64, "d"), "writes %d device[320, 384) over %b\n"); // what c left of b
  EXPECT_EQ(write(0, 128, "d"), "writes %d device[0, 128) over %a\n");    // and of a
  EXPECT_EQ(write(256, 32, "e"), "writes %e device[256, 288) over %c\n"); // out of its middle
  EXPECT_EQ(write(128, 256, "f"), "writes %f device[128, 384) over %c and %e and %d\n");
}

TEST(TraceDevice, KnowsHowManyAddressesThereAre) {
  std::ostringstream out;
  Status status = createTraceDevice(out)->allocate("device", uint64_t(1) << 60).status();
  EXPECT_EQ(status.code(), ErrorCode::ProgramFailed);
  EXPECT_NE(status.message().find("arena 'device' of 1152921504606846976 bytes has no room among the addresses of a process"), std::string::npos);
}

TEST(TraceBootstrap, IsOneRankOfMany) {
  auto bootstrap = createTraceBootstrap(2, 5);
  EXPECT_EQ(bootstrap->rank(), 2u);
  EXPECT_EQ(bootstrap->size(), 5u);
  EXPECT_EQ(bootstrap->allGather("x")->size(), 5u);
  EXPECT_TRUE(bootstrap->agree(Status()).ok());
  auto channel = bootstrap->createChannel();
  ASSERT_TRUE(channel.ok());
  EXPECT_NE((*channel)->allGather(nullptr, nullptr, 0).message().find("a traced program has no peers to exchange with"), std::string::npos);
}

} // namespace
} // namespace zero
