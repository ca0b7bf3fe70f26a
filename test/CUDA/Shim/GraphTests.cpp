//===- GraphTests.cpp - Captures and their replay -------------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <atomic>
#include <thread>

namespace zero::shim {
namespace {

constexpr const char *kKernels = R"(
extern "C" __global__ void scale(float *p, float by, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] = p[i] * by;
}
extern "C" __global__ void add(float *to, const float *from, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    to[i] += from[i];
}
)";

constexpr unsigned kCount = 100;

class ShimGraph : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_CUDA(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    ASSERT_CUDA(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    ASSERT_CUDA(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    ASSERT_CUDA(cuMemHostAlloc(&pinned, kCount * sizeof(float), 0));
    scale = function(kKernels, "scale");
    add = function(kKernels, "add");
    a = upload(std::vector<float>(kCount, 1));
    b = upload(std::vector<float>(kCount, 10));
  }
  void TearDown() override {
    if (exec)
      EXPECT_CUDA(cuGraphExecDestroy(exec));
    if (graph)
      EXPECT_CUDA(cuGraphDestroy(graph));
    exec = nullptr;
    graph = nullptr;
    EXPECT_CUDA(cuMemFreeHost(pinned));
    EXPECT_CUDA(cuEventDestroy(fork));
    EXPECT_CUDA(cuEventDestroy(join));
    EXPECT_CUDA(cuStreamDestroy(side));
    DriverTest::TearDown();
  }
  void put(CUfunction kernel, CUstream on, std::vector<void *> arguments) {
    ASSERT_CUDA(cuLaunchKernel(kernel, 4, 1, 1, 32, 1, 1, 0, on, arguments.data(), nullptr));
  }
  /// a *= 2 beside b *= 3, then a += b, and a copy to the host: over two streams, by kernels, copies and a library's call.
  void submitStep() {
    float two = 2, three = 3;
    unsigned n = kCount;
    ASSERT_CUDA(cuEventRecord(fork, stream));
    ASSERT_CUDA(cuStreamWaitEvent(side, fork, 0));
    put(scale, stream, {&a, &two, &n});
    put(scale, side, {&b, &three, &n});
    ASSERT_CUDA(enqueue(side, {"negate", {{reinterpret_cast<void *>(b), kCount * sizeof(float), Access::Write}}, [](std::span<std::byte *const> memory) {
                                 for (unsigned i = 0; i < kCount; ++i)
                                   reinterpret_cast<float *>(memory[0])[i] *= -1;
                                 return CUDA_SUCCESS;
                               }}));
    ASSERT_CUDA(cuEventRecord(join, side));
    ASSERT_CUDA(cuStreamWaitEvent(stream, join, 0));
    put(add, stream, {&a, &b, &n});
    ASSERT_CUDA(cuMemcpyDtoHAsync(pinned, a, kCount * sizeof(float), stream));
  }
  void capture() {
    ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    submitStep();
    ASSERT_CUDA(cuStreamEndCapture(stream, &graph));
    ASSERT_CUDA(cuGraphInstantiateWithFlags(&exec, graph, 0));
  }

  CUstream side = nullptr;
  CUevent fork = nullptr, join = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUfunction scale = nullptr, add = nullptr;
  CUdeviceptr a = 0, b = 0;
  void *pinned = nullptr;
};

TEST_F(ShimGraph, CapturingRunsNothing) {
  capture();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(download<float>(a, kCount), std::vector<float>(kCount, 1));
  size_t nodes = 0;
  ASSERT_CUDA(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 5u);
}

TEST_F(ShimGraph, ReplayEqualsDirectSubmission) {
  for (const char *timing : {"concurrent", "serial", "adversarial:1", "adversarial:2", "adversarial:3"}) {
    Setting chosen("ZERO_SHIM_TIMING", timing);
    startAgain();
    for (int step = 0; step < 4; ++step)
      submitStep();
    ASSERT_CUDA(cuStreamSynchronize(stream));
    std::vector<float> directA = download<float>(a, kCount), directB = download<float>(b, kCount);
    std::vector<float> one(kCount, 1), ten(kCount, 10);
    ASSERT_CUDA(cuMemcpyHtoD(a, one.data(), kCount * sizeof(float)));
    ASSERT_CUDA(cuMemcpyHtoD(b, ten.data(), kCount * sizeof(float)));
    capture();
    for (int step = 0; step < 4; ++step)
      ASSERT_CUDA(cuGraphLaunch(exec, stream));
    ASSERT_CUDA(cuStreamSynchronize(stream));
    EXPECT_EQ(download<float>(a, kCount), directA) << timing;
    EXPECT_EQ(download<float>(b, kCount), directB) << timing;
    EXPECT_EQ(static_cast<float *>(pinned)[7], directA[7]);
    EXPECT_EQ(directB[0], 810);
  }
}

TEST_F(ShimGraph, BranchesRunAtTheSameTime) {
  static std::atomic<int> arrived;
  arrived = 0;
  auto meet = [](void *) {
    ++arrived;
    while (arrived % 2)
      std::this_thread::yield();
  };
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CUDA(cuEventRecord(fork, stream));
  ASSERT_CUDA(cuStreamWaitEvent(side, fork, 0));
  ASSERT_CUDA(cuLaunchHostFunc(stream, meet, nullptr));
  ASSERT_CUDA(cuLaunchHostFunc(side, meet, nullptr));
  ASSERT_CUDA(cuEventRecord(join, side));
  ASSERT_CUDA(cuStreamWaitEvent(stream, join, 0));
  ASSERT_CUDA(cuStreamEndCapture(stream, &graph));
  ASSERT_CUDA(cuGraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(cuGraphLaunch(exec, stream));
  ASSERT_CUDA(cuGraphLaunch(exec, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(arrived, 4);
}

TEST_F(ShimGraph, ExternalEventsHappenInReplays) {
  CUevent outside = nullptr;
  ASSERT_CUDA(cuEventCreate(&outside, CU_EVENT_DISABLE_TIMING));
  static std::atomic<int> ran;
  ran = 0;
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CUDA(cuLaunchHostFunc(stream, [](void *) { ++ran; }, nullptr));
  ASSERT_CUDA(cuEventRecordWithFlags(outside, stream, CU_EVENT_RECORD_EXTERNAL));
  ASSERT_CUDA(cuStreamEndCapture(stream, &graph));
  ASSERT_CUDA(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 1; i <= 3; ++i) {
    ASSERT_CUDA(cuGraphLaunch(exec, stream));
    ASSERT_CUDA(cuEventSynchronize(outside));
    EXPECT_EQ(ran, i);
  }
  ASSERT_CUDA(cuEventDestroy(outside));
}

TEST_F(ShimGraph, CapturesThatCannotBeReplayedAreFound) {
  unsigned n = kCount;
  float two = 2;
  ASSERT_CUDA(cuEventRecord(join, side));
  EXPECT_MISUSE({
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuEventRecord(fork, stream);
    cuStreamWaitEvent(side, fork, 0);
    put(scale, side, {&a, &two, &n});
    cuStreamEndCapture(stream, &graph);
  }, "cuStreamEndCapture: stream [0-9]+ does not wait for all of what was captured: not for scale");
  EXPECT_MISUSE({
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuStreamWaitEvent(stream, join, 0);
  }, "cuStreamWaitEvent: event [0-9]+ was recorded outside of the capture of stream");
  EXPECT_MISUSE({
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuStreamSynchronize(stream);
  }, "cuStreamSynchronize: stream [0-9]+ is being captured");
  EXPECT_MISUSE({
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    std::vector<float> pageable(kCount);
    cuMemcpyHtoDAsync(a, pageable.data(), kCount * sizeof(float), stream);
  }, "is pageable memory: a graph cannot hold the copy");
  EXPECT_MISUSE({
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuEventRecord(fork, stream);
    put(scale, stream, {&a, &two, &n});
    cuStreamEndCapture(stream, &graph);
    cuStreamWaitEvent(side, fork, 0);
  }, "event [0-9]+ was last recorded in a capture that has ended");
  EXPECT_MISUSE({
    cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuEventRecord(fork, stream);
    cuEventQuery(fork);
  }, "cuEventQuery: event [0-9]+ was last recorded in a capture");
  EXPECT_MISUSE(cuStreamEndCapture(stream, &graph), "no capture began in stream");
}

TEST_F(ShimGraph, SpoiledCapturesGiveNoGraph) {
  Setting returned("ZERO_SHIM_ON_ERROR", "return");
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUstreamCaptureStatus status;
  ASSERT_CUDA(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  ASSERT_CUDA(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(ShimGraph, ReplaysAreCheckedAsDirectWorkIs) {
  capture();
  ASSERT_CUDA(cuMemFree(b));
  EXPECT_MISUSE(cuGraphLaunch(exec, stream); cuStreamSynchronize(stream), "is not in live device memory");
  memory.pop_back();
  CUgraphExec gone = exec;
  ASSERT_CUDA(cuGraphExecDestroy(exec));
  exec = nullptr;
  EXPECT_MISUSE(cuGraphLaunch(gone, stream), "cuGraphLaunch: executable graph [0-9]+ was destroyed");
}

TEST_F(ShimGraph, AFailedNodeEndsTheReplay) {
  Setting returned("ZERO_SHIM_ON_ERROR", "return");
  capture();
  ASSERT_CUDA(cuMemFree(b));
  memory.pop_back();
  ASSERT_CUDA(cuGraphLaunch(exec, stream));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  // What is left goes with the context.
  memory.clear();
  modules.clear();
  exec = nullptr;
  graph = nullptr;
  ASSERT_CUDA(cuDevicePrimaryCtxRelease(0));
  SetUp();
}

} // namespace
} // namespace zero::shim
