//===- NvrtcTests.cpp - The simulated NVRTC, and the race check -----------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <algorithm>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace zero::shim {
namespace {

struct Outcome {
  nvrtcResult result;
  std::string log;
  size_t cubinSize = 0, ptxSize = 0;
};

Outcome compile(const char *source, std::vector<const char *> options) {
  nvrtcProgram program = nullptr;
  EXPECT_EQ(nvrtcCreateProgram(&program, source, "kernels.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  Outcome outcome{nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()), ""};
  size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  outcome.log.resize(size);
  nvrtcGetProgramLog(program, outcome.log.data());
  if (outcome.result == NVRTC_SUCCESS) {
    nvrtcGetCUBINSize(program, &outcome.cubinSize);
    nvrtcGetPTXSize(program, &outcome.ptxSize);
  }
  nvrtcDestroyProgram(&program);
  return outcome;
}

constexpr const char *kNothing = "extern \"C\" __global__ void nothing(int *p) {}\n";

TEST(ShimNvrtc, ErrorsNameTheLineOfTheSource) {
  Outcome outcome = compile("\n\nextern \"C\" __global__ void f(int *p) { *p = q; }\n", {"--gpu-architecture=sm_90"});
  EXPECT_EQ(outcome.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(outcome.log.find("kernels.cu:3:"), std::string::npos) << outcome.log;
  EXPECT_NE(outcome.log.find("undeclared identifier 'q'"), std::string::npos) << outcome.log;
}

TEST(ShimNvrtc, HeadersOfTheHostAreNotThere) {
  EXPECT_EQ(compile("#include <cmath>\n", {"--gpu-architecture=sm_90"}).result, NVRTC_ERROR_COMPILATION);
  EXPECT_EQ(compile("extern \"C\" __global__ void f(int *p) { *p = std::min(1, 2); }", {"--gpu-architecture=sm_90"}).result, NVRTC_ERROR_COMPILATION);
}

TEST(ShimNvrtc, OptionsAreThoseOfNvrtc) {
  EXPECT_EQ(compile(kNothing, {"--gpu-architecture=sm_12"}).result, NVRTC_ERROR_INVALID_OPTION);
  Outcome outcome = compile(kNothing, {"--gpu-arch=sm_90"});
  EXPECT_EQ(outcome.result, NVRTC_ERROR_INVALID_OPTION);
  EXPECT_NE(outcome.log.find("unknown option '--gpu-arch=sm_90'"), std::string::npos);
  outcome = compile("#if __CUDA_ARCH__ != 1000 || N != 3\n#error no\n#endif\n", {"-arch", "sm_100", "-DN=3", "--ptxas-options=-v", "--device-int128"});
  EXPECT_EQ(outcome.result, NVRTC_SUCCESS) << outcome.log;
  EXPECT_GT(outcome.cubinSize, 0u);
  outcome = compile(kNothing, {"--gpu-architecture=compute_90"});
  EXPECT_EQ(outcome.cubinSize, 0u);
  EXPECT_GT(outcome.ptxSize, 0u);
}

TEST(ShimNvrtc, ATextIsCompiledOnceForAllArchitecturesUnlessItAsks) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("zero-shim-cache-" + std::to_string(getpid()));
  Setting cache("ZERO_SHIM_CACHE", folder.c_str());
  auto objects = [&](const std::string &source) {
    fs::remove_all(folder);
    std::vector<std::thread> threads; // at once, as a compiler asks
    for (const char *option : {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90", "--gpu-architecture=compute_90"})
      threads.emplace_back([&source, option] {
        Outcome outcome = compile(source.c_str(), {option});
        EXPECT_EQ(outcome.result, NVRTC_SUCCESS) << outcome.log;
      });
    for (std::thread &thread : threads)
      thread.join();
    return std::count_if(fs::directory_iterator(folder), fs::directory_iterator(), [](const auto &file) { return file.path().extension() == ".so"; });
  };
  EXPECT_EQ(objects(kNothing), 1);
  EXPECT_EQ(objects(std::string(kNothing) + "static_assert(__CUDA_ARCH__ >= 800);\n"), 2);
  fs::remove_all(folder);
}

TEST(ShimNvrtc, ABarrierThatIsNotThereCannotBeDropped) {
  Setting drop("ZERO_SHIM_DROP_BARRIER", "1");
  Outcome outcome = compile(kNothing, {"--gpu-architecture=sm_90"});
  EXPECT_EQ(outcome.result, NVRTC_ERROR_INVALID_INPUT);
  EXPECT_NE(outcome.log.find("the text has 0 barriers, not 1"), std::string::npos) << outcome.log;
}

TEST(ShimNvrtc, SharedMemoryOfAFileIsRefused) {
  Outcome outcome = compile("extern __shared__ float all[];\n", {"--gpu-architecture=sm_90"});
  EXPECT_EQ(outcome.result, NVRTC_ERROR_COMPILATION);
  EXPECT_NE(outcome.log.find("extern __shared__ is simulated inside of functions alone"), std::string::npos) << outcome.log;
}

using ShimModule = DriverTest;

TEST_F(ShimModule, CodeRunsOnItsGenerationOnly) {
  auto loads = [&](const char *architecture, const char *device) {
    Setting chosen("ZERO_SHIM_ARCHITECTURE", device);
    std::string option = std::string("--gpu-architecture=") + architecture;
    CUmodule module = nullptr;
    CUresult result = cuModuleLoadData(&module, compiled(kNothing, {option.c_str()}).c_str());
    if (result == CUDA_SUCCESS)
      EXPECT_CUDA(cuModuleUnload(module));
    return result;
  };
  EXPECT_CUDA(loads("sm_80", "sm_80"));
  EXPECT_CUDA(loads("sm_80", "sm_89"));
  EXPECT_EQ(loads("sm_80", "sm_90"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(loads("sm_89", "sm_80"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(loads("sm_90", "sm_100"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

constexpr const char *kRaces = R"(
__device__ void neighbours(int *p, bool wait) {
  __shared__ int all[128];
  all[threadIdx.x] = threadIdx.x;
  if (wait)
    __syncthreads();
  p[threadIdx.x] = all[(threadIdx.x + 32) % 128];
}
extern "C" __global__ void withBarrier(int *p) { neighbours(p, true); }
extern "C" __global__ void withoutBarrier(int *p) { neighbours(p, false); }
extern "C" __global__ void withinWarp(int *p) {
  extern __shared__ int some[];
  some[threadIdx.x] = threadIdx.x;
  __syncwarp();
  p[threadIdx.x] = some[threadIdx.x ^ 1];
}
extern "C" __global__ void warpWithoutSync(int *p) {
  extern __shared__ int some[];
  some[threadIdx.x] = threadIdx.x;
  p[threadIdx.x] = some[threadIdx.x ^ 1];
}
extern "C" __global__ void readThenWrite(int *p) {
  __shared__ int one;
  if (threadIdx.x == 0)
    one = 5;
  __syncthreads();
  p[threadIdx.x] = one;
  if (threadIdx.x == 64)
    one = 6;
}
extern "C" __global__ void reusedBuffer(int *p) {
  __shared__ float buffer[64];
  for (int round = 0; round < 3; ++round) {
    buffer[threadIdx.x] = round;
    __syncthreads();
    p[threadIdx.x] = static_cast<int>(buffer[63 - threadIdx.x]);
    __syncthreads();
  }
}
)";

class ShimRace : public DriverTest {
protected:
  Setting check{"ZERO_SHIM_CHECK", "shared"};
  void runOne(const char *name, unsigned threads) {
    CUdeviceptr at = allocate(threads * 4);
    ASSERT_CUDA(launch(function(kRaces, name), 2, threads, threads * 4, at));
    ASSERT_CUDA(cuStreamSynchronize(stream));
  }
};

TEST_F(ShimRace, SynchronizedAccessesPass) {
  runOne("withBarrier", 128);
  runOne("withinWarp", 64);
  runOne("reusedBuffer", 64);
}

TEST_F(ShimRace, UnsynchronizedAccessesAreFound) {
  EXPECT_MISUSE(runOne("withoutBarrier", 128), "kernel withoutBarrier, thread .*: it (reads|writes) shared memory that thread .* has (written|read) without a barrier in between");
  EXPECT_MISUSE(runOne("warpWithoutSync", 64), "kernel warpWithoutSync, .*: it (reads|writes) shared memory that thread");
  EXPECT_MISUSE(runOne("readThenWrite", 128), "kernel readThenWrite, .*: it (reads|writes) shared memory that thread");
}

TEST_F(ShimRace, ADroppedBarrierIsFound) {
  Setting drop("ZERO_SHIM_DROP_BARRIER", "1");
  EXPECT_MISUSE(runOne("withBarrier", 128), "kernel withBarrier, .*: it (reads|writes) shared memory that thread");
}

} // namespace
} // namespace zero::shim
