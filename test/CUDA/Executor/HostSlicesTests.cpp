//===- HostSlicesTests.cpp - What the host gives and takes, on a GPU ------===//
#include "lib/Runtime/Executor/HostSlices.h"
#include "test/CUDA/Support/OnGpu.h"
#include <atomic>
#include <cstring>
#include <thread>

namespace zero {
namespace {

class HostSlicesOnGpu : public test::OnGpu {
protected:
  HostSlicesOnGpu() : OnGpu(4096) {}
  void TearDown() override { // also where a test has given up
    goesOn = true;
    if (compute)
      compute->finish();
  }
  HostSlices make(unsigned copies) {
    auto made = HostSlices::create(*device, {{arena->data(), 100}, {arena->data() + 1000, 8}}, copies);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  static void fill(const HostSlices &slices, int value) {
    std::memset(slices.at(0), value, 100);
    std::memset(slices.at(1), value, 8);
  }
  /// Holds the stream until `goesOn`.
  void hold() {
    ASSERT_TRUE(device->callHost(
                          compute->stream(),
                          [](void *argument) {
                            while (!*static_cast<std::atomic<bool> *>(argument))
                              std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          },
                          &goesOn)
                    .ok());
  }

  std::atomic<bool> goesOn = false;
};

/// While a batch waits behind what the device still does, the host writes the next one, and neither changes the other.
TEST_F(HostSlicesOnGpu, TheNextBatchIsWrittenWhileOneIsOnItsWay) {
  HostSlices slices = make(2);
  hold();
  fill(slices, 1);
  std::byte *first = slices.at(0);
  ASSERT_TRUE(slices.send(*compute, {}, failure).ok()); // returns, although the stream is held
  EXPECT_NE(slices.at(0), first);
  fill(slices, 2);
  EXPECT_EQ(byteAt(0), 0);
  goesOn = true;
  compute->finish();
  EXPECT_EQ(byteAt(99), 1);
  EXPECT_EQ(byteAt(1007), 1);
  ASSERT_TRUE(slices.send(*compute, {}, failure).ok());
  EXPECT_EQ(slices.at(0), first);
  compute->finish();
  EXPECT_EQ(byteAt(0), 2);
  EXPECT_EQ(byteAt(100), 0); // between them nothing is written
}

TEST_F(HostSlicesOnGpu, OnlyWhatASectionReadsIsSent) {
  HostSlices slices = make(2);
  fill(slices, 5);
  ASSERT_TRUE(slices.send(*compute, {false, true}, failure).ok());
  compute->finish();
  EXPECT_EQ(byteAt(0), 0);
  EXPECT_EQ(byteAt(1000), 5);
}

TEST_F(HostSlicesOnGpu, WhatIsFetchedIsThereAfterTheWait) {
  HostSlices slices = make(1);
  hold();
  ASSERT_TRUE(device->fillAsync(arena->data(), 9, 4096, compute->stream()).ok());
  ASSERT_TRUE(slices.fetch(*compute).ok());
  ASSERT_TRUE(device->fillAsync(arena->data(), 3, 4096, compute->stream()).ok()); // later
  EXPECT_NE(*slices.at(1), std::byte(9));
  goesOn = true;
  ASSERT_TRUE(slices.wait(failure).ok());
  EXPECT_EQ(*slices.at(0), std::byte(9));
  EXPECT_EQ(*slices.at(1), std::byte(9));
}

TEST_F(HostSlicesOnGpu, AFailureEndsTheWait) {
  HostSlices slices = make(1);
  hold();
  ASSERT_TRUE(slices.fetch(*compute).ok());
  std::thread raiser([&] { failure.raise(Status::communication("a peer is lost")); });
  EXPECT_EQ(slices.wait(failure).message(), "a peer is lost");
  raiser.join();
  goesOn = true;
  Failure none; // the copy is still to come
  EXPECT_TRUE(device->synchronize(compute->stream(), none));
}

} // namespace
} // namespace zero
