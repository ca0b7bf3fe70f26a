//===- StreamTests.cpp - Streams and events -------------------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <atomic>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace zero::shim {
namespace {

/// What host functions write down, in the order in which they run.
struct Journal {
  std::mutex mutex;
  std::string letters;
  void add(char letter) {
    std::lock_guard lock(mutex);
    letters += letter;
  }
};

struct Entry {
  Journal *journal;
  char letter;
};

class ShimStream : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_CUDA(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, -1));
    ASSERT_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
  void TearDown() override {
    EXPECT_CUDA(cuEventDestroy(event));
    EXPECT_CUDA(cuStreamDestroy(other));
    DriverTest::TearDown();
  }
  void write(CUstream to, char letter) {
    entries.push_back(std::make_unique<Entry>(Entry{&journal, letter}));
    ASSERT_CUDA(cuLaunchHostFunc(to, [](void *data) { static_cast<Entry *>(data)->journal->add(static_cast<Entry *>(data)->letter); }, entries.back().get()));
  }
  void finish() {
    ASSERT_CUDA(cuStreamSynchronize(stream));
    ASSERT_CUDA(cuStreamSynchronize(other));
  }

  CUstream other = nullptr;
  CUevent event = nullptr;
  Journal journal;
  std::vector<std::unique_ptr<Entry>> entries;
};

TEST_F(ShimStream, WorkOfAStreamRunsInItsOrder) {
  for (char letter = 'a'; letter <= 'z'; ++letter)
    write(stream, letter);
  finish();
  EXPECT_EQ(journal.letters, "abcdefghijklmnopqrstuvwxyz");
}

TEST_F(ShimStream, StreamsRunAtTheSameTime) {
  // Each waits for the other: one after the other they would not end.
  static std::atomic<int> arrived;
  arrived = 0;
  auto meet = [](void *) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  };
  ASSERT_CUDA(cuLaunchHostFunc(stream, meet, nullptr));
  ASSERT_CUDA(cuLaunchHostFunc(other, meet, nullptr));
  finish();
}

TEST_F(ShimStream, QueriesDoNotWait) {
  static std::atomic<bool> go;
  go = false;
  ASSERT_CUDA(cuLaunchHostFunc(stream, [](void *) {
    while (!go)
      std::this_thread::yield();
  }, nullptr));
  ASSERT_CUDA(cuEventRecord(event, stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_CUDA(cuStreamQuery(other));
  go = true;
  ASSERT_CUDA(cuEventSynchronize(event));
  EXPECT_CUDA(cuEventQuery(event));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_CUDA(cuStreamQuery(stream));
}

TEST_F(ShimStream, AWaitIsForTheRecordBeforeIt) {
  static std::atomic<bool> go;
  go = false;
  write(stream, 'a');
  ASSERT_CUDA(cuEventRecord(event, stream));
  ASSERT_CUDA(cuStreamWaitEvent(other, event, 0));
  // A later record of the same event is none of its business.
  ASSERT_CUDA(cuLaunchHostFunc(stream, [](void *) {
    while (!go)
      std::this_thread::yield();
  }, nullptr));
  ASSERT_CUDA(cuEventRecord(event, stream));
  write(other, 'b');
  ASSERT_CUDA(cuStreamSynchronize(other));
  EXPECT_EQ(journal.letters, "ab");
  go = true;
  finish();
}

TEST_F(ShimStream, ElapsedTimeIsThatBetweenRecords) {
  CUevent begin = nullptr, end = nullptr;
  ASSERT_CUDA(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  ASSERT_CUDA(cuEventCreate(&end, CU_EVENT_DEFAULT));
  ASSERT_CUDA(cuEventRecord(begin, stream));
  ASSERT_CUDA(cuLaunchHostFunc(stream, [](void *) { usleep(3000); }, nullptr));
  ASSERT_CUDA(cuEventRecord(end, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  float milliseconds = 0;
  ASSERT_CUDA(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GE(milliseconds, 3);
  ASSERT_CUDA(cuEventRecord(event, stream));
  EXPECT_MISUSE(cuEventElapsedTime(&milliseconds, begin, event), "event [0-9]+ was created without timing");
  EXPECT_CUDA(cuEventDestroy(begin));
  EXPECT_CUDA(cuEventDestroy(end));
}

/// What comes out where the second stream does not wait, and where it does.
class ShimTiming : public ShimStream {
protected:
  void SetUp() override {}
  void TearDown() override {}
  std::string order(const std::string &timing, bool withEvent) {
    Setting chosen("ZERO_SHIM_TIMING", timing);
    ShimStream::SetUp();
    for (int i = 0; i < 4; ++i)
      write(stream, 'a');
    EXPECT_CUDA(cuEventRecord(event, stream));
    if (withEvent)
      EXPECT_CUDA(cuStreamWaitEvent(other, event, 0));
    for (int i = 0; i < 4; ++i)
      write(other, 'b');
    finish();
    std::string letters = journal.letters;
    journal.letters.clear();
    ShimStream::TearDown();
    return letters;
  }
};

TEST_F(ShimTiming, AdversarialTimingReordersWhatMayBeReordered) {
  bool reordered = false;
  for (int seed = 1; seed <= 100 && !reordered; ++seed)
    reordered = order("adversarial:" + std::to_string(seed), false).front() == 'b';
  EXPECT_TRUE(reordered) << "b never overtook a";
}

TEST_F(ShimTiming, AdversarialTimingKeepsToEvents) {
  for (int seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(order("adversarial:" + std::to_string(seed), true), "aaaabbbb");
}

TEST_F(ShimTiming, SerialTimingIsTheOrderOfSubmission) {
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(order("serial", false), "aaaabbbb");
}

TEST_F(ShimTiming, OtherTimingsAreRefused) {
  EXPECT_MISUSE(order("random", true), "ZERO_SHIM_TIMING: 'random' is neither concurrent, serial nor adversarial:SEED");
  EXPECT_MISUSE(order("adversarial:", true), "'adversarial:' is neither");
}

using ShimStreamMisuse = ShimStream;

TEST_F(ShimStreamMisuse, AnEventThatWasNeverRecordedIsFound) {
  EXPECT_MISUSE(cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent: event [0-9]+ was never recorded: stream [0-9]+ would wait for nothing");
  EXPECT_MISUSE(cuEventSynchronize(event), "cuEventSynchronize: event [0-9]+ was never recorded");
}

TEST_F(ShimStreamMisuse, DestroyedHandlesAreFound) {
  CUstream gone = nullptr;
  CUevent goneEvent = nullptr;
  ASSERT_CUDA(cuStreamCreate(&gone, 0));
  ASSERT_CUDA(cuStreamDestroy(gone));
  ASSERT_CUDA(cuEventCreate(&goneEvent, 0));
  ASSERT_CUDA(cuEventDestroy(goneEvent));
  EXPECT_MISUSE(cuEventRecord(event, gone), "cuEventRecord: stream [0-9]+ was destroyed");
  EXPECT_MISUSE(cuEventRecord(goneEvent, stream), "cuEventRecord: event [0-9]+ was destroyed");
  EXPECT_MISUSE(cuStreamDestroy(gone), "cuStreamDestroy: stream [0-9]+ was destroyed");
  EXPECT_MISUSE(cuEventDestroy(goneEvent), "cuEventDestroy: event [0-9]+ was destroyed");
  int none = 0;
  EXPECT_MISUSE(cuStreamSynchronize(reinterpret_cast<CUstream>(&none)), "is no stream");
  EXPECT_MISUSE(cuStreamSynchronize(nullptr), "the null stream is not simulated");
}

TEST_F(ShimStreamMisuse, ThreadsWithoutAContextAreFound) {
  EXPECT_MISUSE(std::thread([&] { cuStreamSynchronize(stream); }).join(), "cuStreamSynchronize: the calling thread has no current context");
  EXPECT_MISUSE(cuCtxSetCurrent(reinterpret_cast<CUcontext>(16)), "0x10 is no context, or was released");
}

TEST_F(ShimStreamMisuse, DestroyedStreamsFinishTheirWork) {
  CUstream brief = nullptr;
  ASSERT_CUDA(cuStreamCreate(&brief, 0));
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_CUDA(cuLaunchHostFunc(brief, [](void *) {
    usleep(2000);
    ran = true;
  }, nullptr));
  ASSERT_CUDA(cuEventRecord(event, brief));
  ASSERT_CUDA(cuStreamDestroy(brief));
  ASSERT_CUDA(cuEventSynchronize(event));
  EXPECT_TRUE(ran);
}

TEST_F(ShimStreamMisuse, ErrorsAreReturnedWhereAskedAndStick) {
  Setting returned("ZERO_SHIM_ON_ERROR", "return");
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_INVALID_VALUE);
  // Work that fails makes the context useless.
  ASSERT_CUDA(enqueue(stream, {"libraryCall", {}, [](std::span<std::byte *const>) { return CUDA_ERROR_LAUNCH_FAILED; }}));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuEventRecord(event, other), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(ShimStreamMisuse, LibraryCallsAreCheckedAndTranslated) {
  CUdeviceptr address = allocate(16);
  auto range = [&](size_t bytes) { return DeviceRange{reinterpret_cast<void *>(address), bytes, Access::Write}; };
  ASSERT_CUDA(enqueue(stream, {"libraryCall", {range(16), {}}, [](std::span<std::byte *const> memory) {
                                 EXPECT_EQ(memory[1], nullptr);
                                 for (int i = 0; i < 4; ++i)
                                   reinterpret_cast<int *>(memory[0])[i] = i;
                                 return CUDA_SUCCESS;
                               }}));
  finish();
  EXPECT_EQ(download<int>(address, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_MISUSE(enqueue(stream, {"libraryCall", {range(17)}, nullptr}), "libraryCall: 17 bytes at 0x[0-9a-f]+ reach to 0 bytes past the end of 16 bytes");
  EXPECT_EQ(currentDevice(), 0);
  EXPECT_EQ(deviceOf(stream), 0);
  EXPECT_EQ(deviceOf(nullptr), -1);
}

} // namespace
} // namespace zero::shim
