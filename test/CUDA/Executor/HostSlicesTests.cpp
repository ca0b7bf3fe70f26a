//===- HostSlicesTests.cpp - What the host gives and takes, on a GPU ------===//
#include "lib/Runtime/Executor/HostSlices.h"
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace zero {
namespace {

class HostSlicesOnGpu : public testing::Test {
protected:
  void SetUp() override {
    auto created = createCudaDevice(0, /*shared=*/true);
    if (!created.ok())
      GTEST_SKIP() << created.status().message();
    device = std::move(*created);
    queue = device->createQueue({"compute", 8, /*onCallingThread=*/true}, failure);
    auto allocated = device->allocate("device", 4096);
    ASSERT_TRUE(allocated.ok()) << allocated.status().message();
    arena = std::move(*allocated);
  }
  HostSlices make(unsigned copies) {
    auto made = HostSlices::create(*device, {{arena->data(), 100}, {arena->data() + 1000, 8}}, copies);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  uint8_t onDevice(uint64_t offset) {
    uint8_t byte = 0xee;
    EXPECT_TRUE(device->download(&byte, arena->data() + offset, 1).ok());
    return byte;
  }
  static void fill(const HostSlices &slices, int value) {
    std::memset(slices.at(0), value, 100);
    std::memset(slices.at(1), value, 8);
  }
  /// Holds the stream until `goesOn`.
  void hold() {
    ASSERT_TRUE(device->callHost(
                          queue->stream(),
                          [](void *argument) {
                            while (!*static_cast<std::atomic<bool> *>(argument))
                              std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          },
                          &goesOn)
                    .ok());
  }

  std::atomic<bool> goesOn = false;
  Failure failure;
  std::unique_ptr<StreamDevice> device;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Queue> queue;
};

/// While a batch waits behind what the device still does, the host writes the next one, and neither changes the other.
TEST_F(HostSlicesOnGpu, TheNextBatchIsWrittenWhileOneIsOnItsWay) {
  HostSlices slices = make(2);
  hold();
  fill(slices, 1);
  std::byte *first = slices.at(0);
  ASSERT_TRUE(slices.send(*queue, {}, failure).ok()); // returns, although the stream is held
  EXPECT_NE(slices.at(0), first);
  fill(slices, 2);
  EXPECT_EQ(onDevice(0), 0);
  goesOn = true;
  queue->finish();
  EXPECT_EQ(onDevice(99), 1);
  EXPECT_EQ(onDevice(1007), 1);
  ASSERT_TRUE(slices.send(*queue, {}, failure).ok());
  EXPECT_EQ(slices.at(0), first);
  queue->finish();
  EXPECT_EQ(onDevice(0), 2);
  EXPECT_EQ(onDevice(100), 0); // between them nothing is written
}

TEST_F(HostSlicesOnGpu, OnlyWhatASectionReadsIsSent) {
  HostSlices slices = make(2);
  fill(slices, 5);
  ASSERT_TRUE(slices.send(*queue, {false, true}, failure).ok());
  queue->finish();
  EXPECT_EQ(onDevice(0), 0);
  EXPECT_EQ(onDevice(1000), 5);
}

TEST_F(HostSlicesOnGpu, WhatIsFetchedIsThereAfterTheWait) {
  HostSlices slices = make(1);
  hold();
  ASSERT_TRUE(device->fillAsync(arena->data(), 9, 4096, queue->stream()).ok());
  ASSERT_TRUE(slices.fetch(*queue).ok());
  ASSERT_TRUE(device->fillAsync(arena->data(), 3, 4096, queue->stream()).ok()); // later
  EXPECT_NE(*slices.at(1), std::byte(9));
  goesOn = true;
  ASSERT_TRUE(slices.wait(failure).ok());
  EXPECT_EQ(*slices.at(0), std::byte(9));
  EXPECT_EQ(*slices.at(1), std::byte(9));
}

TEST_F(HostSlicesOnGpu, AFailureEndsTheWait) {
  HostSlices slices = make(1);
  hold();
  ASSERT_TRUE(slices.fetch(*queue).ok());
  std::thread raiser([&] { failure.raise(Status::communication("a peer is lost")); });
  EXPECT_EQ(slices.wait(failure).message(), "a peer is lost");
  raiser.join();
  goesOn = true;
  Failure none; // the copy is still to come
  EXPECT_TRUE(device->synchronize(queue->stream(), none));
}

} // namespace
} // namespace zero
