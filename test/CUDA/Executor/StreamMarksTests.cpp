//===- StreamMarksTests.cpp - What a stream has come to, on a GPU ---------===//
#include "zero/Runtime/HAL/StreamMarks.h"
#include "test/CUDA/Support/CompileText.h"
#include "test/CUDA/Support/OnGpu.h"
#include <chrono>

namespace zero {
namespace {

class StreamMarksOnGpu : public test::OnGpu {
protected:
  StreamMarksOnGpu() : OnGpu(64) {}
  void SetUp() override {
    OnGpu::SetUp();
    if (!device)
      return;
    auto compiled = test::compileText(*device, {"lib/Runtime/Kernels/CUDA/Mark.cuh"}, {});
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    program = std::move(*compiled);
    auto made = StreamMarks::create(*device, *program);
    ASSERT_TRUE(made.ok()) << made.status().message();
    marks = std::move(*made);
  }
  static int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }
  std::vector<StreamMarks::Passed> take() {
    std::vector<StreamMarks::Passed> all;
    marks->take([&](const StreamMarks::Passed &mark) { all.push_back(mark); });
    return all;
  }

  std::unique_ptr<DeviceModule> program;
  std::unique_ptr<StreamMarks> marks;
};

/// Each replay of a graph passes its marks anew: what was captured is their names, not their numbers or times.
TEST_F(StreamMarksOnGpu, ReplaysPassTheirMarksAnew) {
  const int64_t before = now();
  ASSERT_TRUE(device->beginCapture(compute->stream()).ok());
  ASSERT_TRUE(marks->put(10, compute->stream()).ok());
  ASSERT_TRUE(marks->put(11, compute->stream()).ok());
  auto graph = device->endCapture(compute->stream());
  ASSERT_TRUE(graph.ok());
  compute->finish();
  EXPECT_TRUE(take().empty());
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE((*graph)->launch(compute->stream()).ok());
  compute->finish();
  std::vector<StreamMarks::Passed> passed = take();
  ASSERT_EQ(passed.size(), 6u);
  // The device's clock is another one, and theirs were compared to within less than this.
  constexpr int64_t kSlack = 1'000'000'000;
  int64_t last = before - kSlack;
  for (size_t i = 0; i < passed.size(); ++i) {
    EXPECT_EQ(passed[i].what, 10 + i % 2);
    EXPECT_GE(passed[i].time, last);
    last = passed[i].time;
  }
  EXPECT_LE(last, now());
  EXPECT_TRUE(take().empty());
}

/// The host looks while the stream goes on: what it was given and has not come to is not there yet.
TEST_F(StreamMarksOnGpu, WhatAStreamHasNotComeToIsNotThere) {
  std::atomic<bool> goesOn = false;
  ASSERT_TRUE(marks->put(1, compute->stream()).ok());
  compute->finish();
  ASSERT_TRUE(device->callHost(
                        compute->stream(),
                        [](void *argument) {
                          while (!*static_cast<std::atomic<bool> *>(argument))
                            std::this_thread::yield();
                        },
                        &goesOn)
                  .ok());
  ASSERT_TRUE(marks->put(2, compute->stream()).ok());
  std::vector<StreamMarks::Passed> passed = take();
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed[0].what, 1u);
  goesOn = true;
  compute->finish();
  passed = take();
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed[0].what, 2u);
}

TEST_F(StreamMarksOnGpu, OfMoreMarksThanSlotsTheLastAreKept) {
  constexpr uint64_t kMore = 100;
  for (uint64_t i = 0; i < kMarkSlots + kMore; ++i)
    ASSERT_TRUE(marks->put(i, compute->stream()).ok());
  compute->finish();
  std::vector<StreamMarks::Passed> passed = take();
  ASSERT_EQ(passed.size(), kMarkSlots);
  for (uint64_t i = 0; i < kMarkSlots; ++i)
    ASSERT_EQ(passed[i].what, kMore + i);
}

TEST_F(StreamMarksOnGpu, AProgramWithoutTheKernelSaysSo) {
  auto other = test::compileText(*device, {}, {"extern \"C\" __global__ void nothing() {}"});
  ASSERT_TRUE(other.ok());
  auto made = StreamMarks::create(*device, **other);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), ErrorCode::BadInput);
  EXPECT_NE(made.status().message().find("the program does not say what streams have come to; compile it again: "), std::string::npos) << made.status().message();
}

} // namespace
} // namespace zero
