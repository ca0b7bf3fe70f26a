//===- DriverTest.h - What tests of the simulated driver begin with -------===//
#ifndef ZERO_TEST_CUDA_SHIM_DRIVERTEST_H
#define ZERO_TEST_CUDA_SHIM_DRIVERTEST_H

#include "test/CUDA/Shim/Report.h"
#include <cstdlib>
#include <cuda.h>
#include <gtest/gtest.h>
#include <memory>
#include <nvrtc.h>
#include <unistd.h>
#include <vector>

namespace zero::shim {

/// Sets an environment variable for the time of a test.
class Setting {
public:
  Setting(const char *name, const std::string &value) : name(name) { setenv(name, value.c_str(), 1); }
  ~Setting() { unsetenv(name); }

private:
  const char *name;
};

#define ASSERT_CUDA(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS)
/// The statement ends the process as a misuse does, and says what matches.
#define EXPECT_MISUSE(statement, pattern)                                                                    \
  EXPECT_EXIT({                                                                                              \
    statement;                                                                                               \
    std::fprintf(stderr, "nothing was found\n");                                                             \
    _exit(0);                                                                                                \
  }, ::testing::ExitedWithCode(kMisuseExitCode), pattern)

/// What the simulated NVRTC makes of `source`.
inline std::string compiled(const std::string &source, std::vector<const char *> options = {"--gpu-architecture=sm_90", "--std=c++20", "--fmad=false"}) {
  nvrtcProgram program = nullptr;
  EXPECT_EQ(nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  nvrtcResult result = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  size_t logSize = 0, size = 0;
  nvrtcGetProgramLogSize(program, &logSize);
  std::string log(logSize, 0), object;
  nvrtcGetProgramLog(program, log.data());
  EXPECT_EQ(result, NVRTC_SUCCESS) << log;
  if (result == NVRTC_SUCCESS && nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS) {
    object.resize(size);
    nvrtcGetCUBIN(program, object.data());
  }
  nvrtcDestroyProgram(&program);
  return object;
}

/// Device 0 and a stream of it.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ASSERT_CUDA(cuInit(0));
    ASSERT_CUDA(cuDevicePrimaryCtxRetain(&context, 0));
    ASSERT_CUDA(cuCtxSetCurrent(context));
    ASSERT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    for (CUdeviceptr address : memory)
      EXPECT_CUDA(cuMemFree(address));
    for (CUmodule module : modules)
      EXPECT_CUDA(cuModuleUnload(module));
    EXPECT_CUDA(cuStreamDestroy(stream));
    EXPECT_CUDA(cuDevicePrimaryCtxRelease(0));
    cuCtxSetCurrent(nullptr);
  }

  /// With other settings.
  void startAgain() {
    TearDown();
    memory.clear();
    modules.clear();
    SetUp();
  }
  /// Device memory that is freed at the end.
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_CUDA(cuMemAlloc(&address, bytes));
    memory.push_back(address);
    return address;
  }
  template <typename T> CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr address = allocate(values.size() * sizeof(T));
    EXPECT_CUDA(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)));
    return address;
  }
  template <typename T> std::vector<T> download(CUdeviceptr address, size_t count) {
    std::vector<T> values(count);
    EXPECT_CUDA(cuMemcpyDtoH(values.data(), address, count * sizeof(T)));
    return values;
  }
  CUfunction function(const std::string &source, const char *name) {
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    EXPECT_CUDA(cuModuleLoadData(&module, compiled(source).c_str()));
    modules.push_back(module);
    EXPECT_CUDA(cuModuleGetFunction(&found, module, name));
    return found;
  }
  template <typename... Arguments> CUresult launch(CUfunction function, unsigned blocks, unsigned threads, unsigned sharedBytes, Arguments... arguments) {
    void *pointers[] = {&arguments..., nullptr};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, sharedBytes, stream, pointers, nullptr);
  }
  template <typename... Arguments> void run(CUfunction function, unsigned blocks, unsigned threads, Arguments... arguments) {
    ASSERT_CUDA(launch(function, blocks, threads, 0, arguments...));
    ASSERT_CUDA(cuStreamSynchronize(stream));
  }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::vector<CUdeviceptr> memory;
  std::vector<CUmodule> modules;
};

} // namespace zero::shim

#endif
