//===- KernelTests.cpp - CUDA C++ on the host -----------------------------===//
#include "test/CUDA/Shim/DriverTest.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace zero::shim {
namespace {

constexpr const char *kKernels = R"(
extern "C" __global__ void indices(unsigned *out) {
  unsigned block = blockIdx.x + gridDim.x * blockIdx.y, thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1000 * block + thread;
}

// One block per row: lanes by shuffles, warps by shared memory.
extern "C" __global__ void __launch_bounds__(128) sumRows(float *sums, const float *rows, int width) {
  __shared__ float warps[4];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    sum += rows[blockIdx.x * width + i];
  for (int offset = 16; offset; offset /= 2)
    sum += __shfl_xor_sync(0xFFFFFFFF, sum, offset);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    sums[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
}

template <typename T> __device__ void reverseBlock(T *p) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T *all = reinterpret_cast<T *>(bytes);
  all[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void reverse(double *p) { reverseBlock(p); }

extern "C" __global__ void shuffles(int *out) {
  int lane = threadIdx.x % 32, *mine = out + threadIdx.x * 8;
  mine[0] = __shfl_sync(0xFFFFFFFF, lane, 5);
  mine[1] = __shfl_sync(0xFFFFFFFF, lane, lane + 1, 8);
  mine[2] = __shfl_up_sync(0xFFFFFFFF, lane, 3, 16);
  mine[3] = __shfl_down_sync(0xFFFFFFFF, lane, 3, 16);
  mine[4] = __shfl_xor_sync(0xFFFFFFFF, lane, 9);
  mine[5] = __shfl_xor_sync(0xFFFFFFFF, lane, 9, 8);
  mine[6] = static_cast<int>(__ballot_sync(0xFFFFFFFF, lane % 3 == 0));
  mine[7] = static_cast<int>(__shfl_sync(0xFFFFFFFF, (1LL << 40) + lane, 31) >> 20);
}

// Four groups of eight lanes, of which each goes its own way.
extern "C" __global__ void groups(int *out) {
  int lane = threadIdx.x % 32;
  unsigned mask = 0xFFu << (lane & ~7);
  int sum = lane;
  for (int offset = 4; offset; offset /= 2)
    sum += __shfl_xor_sync(mask, sum, offset, 8);
  if (lane < 16)
    sum += __any_sync(mask, lane == 9) ? 1000 : 0;
  out[threadIdx.x] = sum;
}

extern "C" __global__ void votes(int *out) {
  int a = __syncthreads_count(threadIdx.x % 2), b = __syncthreads_or(threadIdx.x == 77), c = __syncthreads_and(threadIdx.x < 96);
  int d = __all_sync(0xFFFFFFFF, threadIdx.x < 64), e = __any_sync(0xFFFFFFFF, threadIdx.x == 3);
  out[threadIdx.x] = a + 1000 * b + 10000 * c + 100000 * d + 1000000 * e;
}

extern "C" __global__ void countUp(unsigned *counter, unsigned *order) { order[atomicAdd(counter, 1u)] = blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void mathematics(float *out, const float *in) {
  float x = in[threadIdx.x], *mine = out + 8 * threadIdx.x;
  mine[0] = expf(x);
  mine[1] = rsqrtf(x);
  mine[2] = tanhf(x) + erff(x);
  mine[3] = fmaf(x, x, -1.0f);
  mine[4] = powf(x, 1.5f);
  mine[5] = static_cast<float>(sqrt(static_cast<double>(x)));
  mine[6] = fmaxf(min(x, 2.0f), log1pf(x));
  mine[7] = __int_as_float(__float_as_int(x) + 1);
}

extern "C" __global__ void vectors(float4 *p, const uchar4 *bytes) {
  float4 v = p[threadIdx.x];
  uchar4 b = bytes[threadIdx.x];
  p[threadIdx.x] = make_float4(v.w + b.x, v.z + b.y, v.y + b.z, v.x + b.w);
}

extern "C" __global__ void parameters(float *p, char a, short b, double c, long long d, unsigned char e, float f) {
  *p = a + b + static_cast<float>(c) + d + e + f;
}
)";

/// Each does something that is wrong.
constexpr const char *kWrongKernels = R"(
extern "C" __global__ void store(float *p, int at) { p[at] = 1; }
extern "C" __global__ void load(float *p, const float *q, int at) { *p = q[at]; }
extern "C" __global__ void follow(float **p) { **p = 1; }
extern "C" __global__ void unaligned(float4 *p, char *q) { p->x = reinterpret_cast<float4 *>(q + 4)->y; }
extern "C" __global__ void unalignedWord(int *p, char *q) { *p = *reinterpret_cast<int *>(q + 1); }
extern "C" __global__ void pastArray(int *p, int at) {
  __shared__ int all[8];
  all[at] = 1;
  *p = all[0];
}
extern "C" __global__ void pastDynamic(int *p, int at) {
  extern __shared__ int all[];
  all[at] = 1;
  *p = all[0];
}
extern "C" __global__ void divide(int *p, int by) { *p = 7 / by; }
extern "C" __global__ void fixPoint(int *p, int n) {
  __threadfence();
  if (n) {
    volatile int much[4096];
    much[n % 4096] = n;
    int *q = p;
    fixPoint(q, n - 1);
    *p += much[n % 4096];
  }
}
extern "C" __global__ void halfBarrier(int *p) {
  if (threadIdx.x < 16)
    __syncthreads();
  *p = 1;
}
extern "C" __global__ void twoBarriers(int *p) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncthreads();
  *p = 1;
}
extern "C" __global__ void lostLane(int *p) {
  if (threadIdx.x == 7)
    return;
  *p = __shfl_xor_sync(0xFFFFFFFF, 1, 1);
}
extern "C" __global__ void wrongMask(int *p) { *p = __shfl_xor_sync(0xFF, 1, 1); }
extern "C" __global__ void beyondMask(int *p) {
  if (threadIdx.x < 8)
    *p = __shfl_sync(0xFF, 1, 9);
}
extern "C" __global__ void fullMask(int *p) { *p = __shfl_xor_sync(0xFFFFFFFF, 1, 1); }
extern "C" __global__ void mixedWaits(int *p) {
  if (threadIdx.x % 2)
    __syncwarp();
  else
    __syncthreads();
  *p = 1;
}
extern "C" __global__ void traps(int *p) {
  if (*p != 5)
    __trap();
}
extern "C" __global__ void __launch_bounds__(64) bounded(int *p) { *p = 1; }
)";

class ShimKernel : public DriverTest {
protected:
  CUfunction good(const char *name) { return function(kKernels, name); }
  CUfunction wrong(const char *name) { return function(kWrongKernels, name); }
};

TEST_F(ShimKernel, EveryThreadHasItsIndex) {
  CUdeviceptr out = allocate(6 * 24 * 4);
  void *arguments[] = {&out};
  ASSERT_CUDA(cuLaunchKernel(good("indices"), 3, 2, 1, 4, 3, 2, 0, stream, arguments, nullptr));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  std::vector<unsigned> values = download<unsigned>(out, 6 * 24);
  for (unsigned i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], 1000 * (i / 24) + i % 24);
}

TEST_F(ShimKernel, RowsAreSummedOverWarpsAndLanes) {
  constexpr int kRows = 5, kWidth = 300;
  std::vector<float> rows(kRows * kWidth);
  std::iota(rows.begin(), rows.end(), 0);
  CUdeviceptr sums = allocate(kRows * 4);
  run(good("sumRows"), kRows, 128, sums, upload(rows), kWidth);
  std::vector<float> values = download<float>(sums, kRows);
  for (int row = 0; row < kRows; ++row)
    EXPECT_EQ(values[row], kWidth * (row * kWidth + (kWidth - 1) / 2.0f));
}

TEST_F(ShimKernel, DynamicSharedMemoryIsSeenByTheWholeBlock) {
  std::vector<double> values(200);
  std::iota(values.begin(), values.end(), 0);
  CUdeviceptr at = upload(values);
  ASSERT_CUDA(launch(good("reverse"), 1, 200, 1600, at));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(download<double>(at, 200), values);
}

TEST_F(ShimKernel, ShufflesReadTheLanesOfTheGuide) {
  CUdeviceptr out = allocate(64 * 8 * 4);
  run(good("shuffles"), 1, 64, out);
  std::vector<int> values = download<int>(out, 64 * 8);
  unsigned ballot = 0;
  for (int lane = 0; lane < 32; lane += 3)
    ballot |= 1u << lane;
  for (int thread = 0; thread < 64; ++thread) {
    int lane = thread % 32, *mine = values.data() + thread * 8;
    EXPECT_EQ(mine[0], 5);
    EXPECT_EQ(mine[1], (lane & ~7) | ((lane + 1) & 7));
    EXPECT_EQ(mine[2], lane % 16 < 3 ? lane : lane - 3);
    EXPECT_EQ(mine[3], lane % 16 + 3 >= 16 ? lane : lane + 3);
    EXPECT_EQ(mine[4], lane ^ 9);
    // A lane beyond the own segment of 8 is not read; one before it is.
    EXPECT_EQ(mine[5], (lane ^ 9) > (lane | 7) ? lane : lane ^ 9);
    EXPECT_EQ(mine[6], static_cast<int>(ballot));
    EXPECT_EQ(mine[7], 1 << 20);
  }
}

TEST_F(ShimKernel, GroupsOfLanesMeetOnTheirOwn) {
  CUdeviceptr out = allocate(64 * 4);
  run(good("groups"), 1, 64, out);
  std::vector<int> values = download<int>(out, 64);
  for (int thread = 0; thread < 64; ++thread) {
    int first = thread % 32 & ~7;
    EXPECT_EQ(values[thread], 8 * first + 28 + (first == 8 ? 1000 : 0));
  }
}

TEST_F(ShimKernel, VotesCountThreadsAndLanes) {
  CUdeviceptr out = allocate(128 * 4);
  run(good("votes"), 1, 128, out);
  std::vector<int> values = download<int>(out, 128);
  for (int thread = 0; thread < 128; ++thread)
    EXPECT_EQ(values[thread], 64 + 1000 + 100000 * (thread < 64) + 1000000 * (thread < 32));
}

TEST_F(ShimKernel, AdversarialTimingChangesTheOrderOfThreadsAndBlocks) {
  auto order = [&](const char *timing) {
    Setting chosen("ZERO_SHIM_TIMING", timing);
    CUdeviceptr counter = upload(std::vector<unsigned>{0}), out = allocate(96 * 4);
    run(good("countUp"), 3, 32, counter, out);
    return download<unsigned>(out, 96);
  };
  std::vector<unsigned> ascending(96), first = order("adversarial:1"), second = order("adversarial:2");
  std::iota(ascending.begin(), ascending.end(), 0);
  EXPECT_EQ(order("serial"), ascending);
  EXPECT_EQ(order("concurrent"), ascending);
  EXPECT_TRUE(first != ascending || second != ascending);
  for (std::vector<unsigned> *all : {&first, &second}) {
    std::sort(all->begin(), all->end());
    EXPECT_EQ(*all, ascending);
  }
}

TEST_F(ShimKernel, MathematicsIsThatOfTheHost) {
  std::vector<float> in = {0.25f, 1, 2.5f, 7};
  CUdeviceptr out = allocate(4 * 8 * 4);
  run(good("mathematics"), 1, 4, out, upload(in));
  std::vector<float> values = download<float>(out, 32);
  for (int i = 0; i < 4; ++i) {
    float x = in[i], *mine = values.data() + 8 * i;
    EXPECT_EQ(mine[0], std::exp(x));
    EXPECT_EQ(mine[1], 1 / std::sqrt(x));
    EXPECT_EQ(mine[2], std::tanh(x) + std::erf(x));
    EXPECT_EQ(mine[3], std::fma(x, x, -1.0f));
    EXPECT_EQ(mine[4], std::pow(x, 1.5f));
    EXPECT_EQ(mine[5], std::sqrt(x));
    EXPECT_EQ(mine[6], std::max(std::min(x, 2.0f), std::log1p(x)));
    EXPECT_EQ(mine[7], std::nextafter(x, 100.0f));
  }
}

TEST_F(ShimKernel, VectorsHaveTheirLayout) {
  std::vector<float> floats = {1, 2, 3, 4, 5, 6, 7, 8};
  CUdeviceptr at = upload(floats);
  run(good("vectors"), 1, 2, at, upload(std::vector<unsigned char>{10, 20, 30, 40, 50, 60, 70, 80}));
  EXPECT_EQ(download<float>(at, 8), (std::vector<float>{14, 23, 32, 41, 58, 67, 76, 85}));
}

TEST_F(ShimKernel, ParametersOfEverySizeArrive) {
  CUdeviceptr at = allocate(4);
  run(good("parameters"), 1, 1, at, char(1), short(20), 300.0, 4000ll, static_cast<unsigned char>(50), 0.5f);
  EXPECT_EQ(download<float>(at, 1)[0], 1 + 20 + 300 + 4000 + 50 + 0.5f);
}

TEST_F(ShimKernel, PinnedMemoryAndNullAreGoodParameters) {
  void *pinned = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&pinned, 16, 0));
  CUdeviceptr at = allocate(16);
  static_cast<float *>(pinned)[2] = 9;
  run(wrong("load"), 1, 1, at, pinned, 2);
  EXPECT_EQ(download<float>(at, 1)[0], 9);
  // The end of memory, where nothing is read.
  run(good("indices"), 1, 1, allocate(4));
  EXPECT_CUDA(launch(wrong("store"), 1, 1, 0, at + 16, -1));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  ASSERT_CUDA(cuMemFreeHost(pinned));
}

TEST_F(ShimKernel, AccessesOutOfBoundsAreFound) {
  CUdeviceptr at = allocate(1024);
  auto storeAt = [&](int index) {
    launch(wrong("store"), 1, 1, 0, at, index);
    cuStreamSynchronize(stream);
  };
  EXPECT_MISUSE(storeAt(256), "kernel store, thread \\(0, 0, 0\\) of block \\(0, 0, 0\\): an access out of bounds: 0 bytes past the end of 1024 bytes of device 0");
  EXPECT_MISUSE(storeAt(-5000), "an access out of bounds: 20000 bytes before 1024 bytes of device 0");
  EXPECT_MISUSE(launch(wrong("load"), 1, 1, 0, at, at, 1000000); cuStreamSynchronize(stream), "kernel load, .*: an access out of bounds: 3998976 bytes past the end");
}

TEST_F(ShimKernel, WrongPointersAreFound) {
  CUdeviceptr at = allocate(64);
  float host = 0;
  EXPECT_MISUSE(launch(wrong("store"), 1, 1, 0, &host, 0), "cuLaunchKernel: kernel store, parameter 0: 0x[0-9a-f]+ is not in live device memory");
  EXPECT_MISUSE(launch(wrong("store"), 1, 1, 0, CUdeviceptr(0), 0); cuStreamSynchronize(stream), "an access to 0x0, which is not device memory");
  ASSERT_CUDA(cuMemcpyHtoD(at, &at, sizeof at));
  EXPECT_MISUSE(launch(wrong("follow"), 1, 1, 0, at); cuStreamSynchronize(stream), "a device address that was no parameter: 0 bytes into 64 bytes");
}

TEST_F(ShimKernel, OtherFaultsOfKernelsAreFound) {
  CUdeviceptr at = allocate(256);
  auto fails = [&](const char *name, auto... arguments) {
    launch(wrong(name), 1, 1, 32, at, arguments...);
    cuStreamSynchronize(stream);
  };
  EXPECT_MISUSE(fails("unaligned", at), "kernel unaligned, .*: an access that is not aligned");
  EXPECT_MISUSE(fails("unalignedWord", at), "kernel unalignedWord, .*: an access that is not aligned");
  EXPECT_MISUSE(fails("pastArray", 8), "out of the bounds of an array");
  EXPECT_MISUSE(fails("pastDynamic", 40), "out of the bounds of dynamic shared memory");
  EXPECT_MISUSE(fails("divide", 0), "kernel divide, .*: an (integer is divided by 0|access that is not aligned)");
  EXPECT_MISUSE(fails("fixPoint", 1000), "the thread's stack is used up");
  EXPECT_MISUSE(fails("traps"), "kernel traps, .*: __trap\\(\\) of line [0-9]+");
}

TEST_F(ShimKernel, BarriersThatNotAllReachAreFound) {
  CUdeviceptr at = allocate(4);
  auto fails = [&](const char *name, unsigned threads) {
    launch(wrong(name), 1, threads, 0, at);
    cuStreamSynchronize(stream);
  };
  EXPECT_MISUSE(fails("halfBarrier", 32), "thread \\(0, 0, 0\\) of .*: it waits in __syncthreads of line [0-9]+ for thread \\(16, 0, 0\\), which has returned");
  EXPECT_MISUSE(fails("twoBarriers", 32), "it waits in __syncthreads of line [0-9]+, but thread \\(0, 0, 0\\) in __syncthreads of line [0-9]+");
  EXPECT_MISUSE(fails("lostLane", 32), "it waits in __shfl_xor_sync of line [0-9]+ for thread \\(7, 0, 0\\), which has returned");
  EXPECT_MISUSE(fails("wrongMask", 32), "__shfl_xor_sync of line [0-9]+: its mask 0xff leaves out the calling lane 8");
  EXPECT_MISUSE(fails("beyondMask", 32), "__shfl_sync of line [0-9]+: reads lane 9, which its mask 0xff leaves out");
  EXPECT_MISUSE(fails("fullMask", 20), "its mask 0xffffffff names lanes beyond the 20 of the warp");
  EXPECT_MISUSE(fails("mixedWaits", 32), "it waits in __sync(threads|warp) of line [0-9]+ for thread \\([0-9]+, 0, 0\\), which waits in __sync(warp|threads)");
}

TEST_F(ShimKernel, FailedKernelsAreReturnedAndTheNextOnesSkipped) {
  Setting returned("ZERO_SHIM_ON_ERROR", "return");
  CUdeviceptr at = allocate(1024);
  CUfunction store = wrong("store");
  ASSERT_CUDA(launch(store, 1, 1, 0, at, 4096));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(launch(store, 1, 1, 0, at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  memory.clear();
  modules.clear();
  cuStreamDestroy(stream);
  ASSERT_CUDA(cuDevicePrimaryCtxRelease(0));
  // A fresh context works, on the same threads of the host or others.
  SetUp();
  at = allocate(4);
  ASSERT_CUDA(launch(wrong("halfBarrier"), 1, 32, 0, at));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_TIMEOUT);
  memory.clear();
  modules.clear();
  cuStreamDestroy(stream);
  ASSERT_CUDA(cuDevicePrimaryCtxRelease(0));
  SetUp();
}

TEST_F(ShimKernel, LaunchesThatAreNotPossibleAreFound) {
  CUdeviceptr at = allocate(4);
  EXPECT_MISUSE(launch(wrong("bounded"), 1, 65, 0, at), "65 threads of a block are more than the 64 of its __launch_bounds__");
  EXPECT_MISUSE(launch(wrong("traps"), 1, 1025, 0, at), "a block of 1025 x 1 x 1 threads is not possible");
  EXPECT_MISUSE(launch(wrong("traps"), 0, 1, 0, at), "a grid of 0 x 1 x 1 blocks is not possible");
  EXPECT_MISUSE(launch(wrong("traps"), 1, 1, 49153, at), "49153 bytes of dynamic shared memory are more than the 49152 that it was allowed");
  CUfunction function = wrong("bounded");
  int most = 0;
  ASSERT_CUDA(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(most, 64);
  ASSERT_CUDA(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
  ASSERT_CUDA(launch(function, 1, 64, 65536, at));
  ASSERT_CUDA(cuStreamSynchronize(stream));
}

TEST_F(ShimKernel, UnloadedModulesTakeTheirFunctionsAlong) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_CUDA(cuModuleLoadData(&module, compiled(kKernels).c_str()));
  ASSERT_CUDA(cuModuleGetFunction(&function, module, "indices"));
  EXPECT_EQ(cuModuleGetFunction(&function, module, "nowhere"), CUDA_ERROR_NOT_FOUND);
  ASSERT_CUDA(cuModuleUnload(module));
  EXPECT_MISUSE(launch(function, 1, 1, 0, allocate(4)), "cuLaunchKernel: function [0-9]+ was destroyed");
  EXPECT_MISUSE(cuModuleUnload(module), "cuModuleUnload: module [0-9]+ was destroyed");
  EXPECT_EQ(cuModuleLoadData(&module, "text that is no code"), CUDA_ERROR_INVALID_IMAGE);
}

} // namespace
} // namespace zero::shim
