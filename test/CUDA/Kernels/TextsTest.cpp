//===- TextsTest.cpp - The kernels' texts under the real compiler ---------===//
//
// NVRTC needs no GPU: every kernel, in the types and shapes that choose between its ways, becomes code for each architecture, and its
// assembler says that no register is spilled. Run without ZERO_CUDA_LIBRARY_PATH, which names a simulated one.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "zero/Runtime/Base/LoadedLibrary.h"
#include <fstream>
#include <iterator>
#include <nvrtc.h>
#include <set>

using namespace zero;
using namespace zero::test;

namespace {

struct Nvrtc {
  decltype(&::nvrtcCreateProgram) create;
  decltype(&::nvrtcCompileProgram) compile;
  decltype(&::nvrtcGetProgramLogSize) logSize;
  decltype(&::nvrtcGetProgramLog) log;
  decltype(&::nvrtcGetCUBINSize) codeSize;
  decltype(&::nvrtcDestroyProgram) destroy;

  static const Nvrtc *get() {
    static const Expected<Nvrtc> loaded = load();
    return loaded.ok() ? &*loaded : nullptr;
  }

private:
  static Expected<Nvrtc> load() {
    ZERO_ASSIGN_OR_RETURN(LoadedLibrary library, LoadedLibrary::open("libnvrtc.so.13"));
    Nvrtc table;
    auto find = [&]<typename Function>(Function *&function, const char *name) {
      Expected<void *> found = library.find(name);
      if (found.ok())
        function = reinterpret_cast<Function *>(*found);
      return found.status();
    };
    ZERO_RETURN_IF_ERROR(find(table.create, "nvrtcCreateProgram"));
    ZERO_RETURN_IF_ERROR(find(table.compile, "nvrtcCompileProgram"));
    ZERO_RETURN_IF_ERROR(find(table.logSize, "nvrtcGetProgramLogSize"));
    ZERO_RETURN_IF_ERROR(find(table.log, "nvrtcGetProgramLog"));
    ZERO_RETURN_IF_ERROR(find(table.codeSize, "nvrtcGetCUBINSize"));
    ZERO_RETURN_IF_ERROR(find(table.destroy, "nvrtcDestroyProgram"));
    return table;
  }
};

struct Wanted {
  const char *kernel;
  std::vector<int64_t> integers;
  std::vector<double> reals = {};
};

/// An attention of dense tensors.
std::vector<int64_t> attention(int64_t element, int64_t size, bool causal, bool mask, bool gradient) {
  std::vector<int64_t> integers = {element, 2, 200, 200, 4, 2, size, causal, mask, mask ? 1 : 0, mask ? 4 : 0};
  int64_t heads[] = {4, 2, 2, 4, 4, 4, 2, 2};
  for (size_t view = 0; view < (gradient ? 8 : 4); ++view)
    integers.insert(integers.end(), {200 * heads[view] * size, heads[view] * size, size});
  return integers;
}

/// Compiles all that `wanted` asks for, and reads the assembler's words.
void expectNoSpills(const std::vector<Wanted> &wanted, bool fast = false) {
  const Nvrtc *nvrtc = Nvrtc::get();
  if (!nvrtc)
    GTEST_SKIP() << "no libnvrtc.so.13";
  auto textOf = [](const std::string &path) {
    std::ifstream file(ZERO_SOURCE_DIR "/" + path);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  std::string source = textOf("lib/Codegen/CUDA/Prelude.cuh"), lines;
  ASSERT_FALSE(source.empty());
  std::set<std::string> known;
  size_t kernels = 0;
  for (const Wanted &one : wanted) {
    CudaOptions kernelOptions;
    kernelOptions.fast = fast;
    auto launches = planCudaLaunches(one.kernel, one.integers, one.reals, kernelOptions);
    ASSERT_TRUE(launches.ok()) << launches.status().message();
    ASSERT_FALSE(launches->empty()) << one.kernel;
    for (const CudaLaunch &launch : *launches) {
      for (std::string_view file : launch.sources)
        if (known.insert(std::string(file)).second) {
          ASSERT_FALSE(cudaLibrarySource(file).empty()) << file;
          source += cudaLibrarySource(file);
        }
      if (known.insert(launch.symbol).second)
        lines += launch.instantiation + "\n", ++kernels;
    }
  }
  source += lines;
  // All three with tools/dev/test --full; the kernels of the golden programs are compiled for all three each time (assembler.test).
  std::vector<const char *> architectures = {"sm_90"};
  if (std::getenv("ZERO_TEST_FULL"))
    architectures.insert(architectures.end(), {"sm_80", "sm_100"});
  for (const char *architecture : architectures) {
    SCOPED_TRACE(architecture);
    nvrtcProgram program;
    ASSERT_EQ(nvrtc->create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    std::string target = std::string("--gpu-architecture=") + architecture;
    const char *options[] = {target.c_str(), "--std=c++20", "--fmad=false", "--ptxas-options=-v", "--device-int128"};
    nvrtcResult result = nvrtc->compile(program, std::size(options), options);
    size_t size = 0;
    nvrtc->logSize(program, &size);
    std::string log(size, 0);
    nvrtc->log(program, log.data());
    size_t codeSize = 0;
    bool hasCode = result == NVRTC_SUCCESS && nvrtc->codeSize(program, &codeSize) == NVRTC_SUCCESS && codeSize > 0;
    nvrtc->destroy(&program);
    ASSERT_TRUE(hasCode) << log;
    // "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", once for each.
    size_t seen = 0;
    constexpr std::string_view kWords = " bytes spill stores";
    for (size_t at = log.find(kWords); at != std::string::npos; at = log.find(kWords, at + 1), ++seen) {
      size_t line = log.rfind('\n', at) + 1;
      EXPECT_EQ(log.substr(log.rfind(' ', at - 1) + 1, at - log.rfind(' ', at - 1) - 1), "0") << log.substr(log.rfind("Compiling", line), at - log.rfind("Compiling", line));
    }
    EXPECT_EQ(seen, kernels) << log;
    if (std::getenv("ZERO_TEST_SHOW_LOG"))
      std::printf("%s\n", log.c_str());
    EXPECT_EQ(log.find("warning"), std::string::npos) << log;
  }
}

TEST(CudaKernelTexts, Copies) {
  std::vector<Wanted> wanted = {{"strided_copy", {4, 2, 64, 96, 0, 96, 1, 0, 1, 64}},
                                {"strided_copy", {2, 3, 5, 64, 96, 0, 6144, 96, 1, 0, 64, 320, 1}},
                                {"strided_copy", {1, 2, 64, 96, 3, 100, 1, 0, 96, 1}},
                                {"strided_copy", {1, 2, 65536, 131071, 3, 131072, 1, 0, 131071, 1}}, // more items than 32 bits count
                                {"matmul", {F32, 2, 3, 5, 0, 0, 0, 0, 0, 0, 5, 15, 5}}};
  for (int64_t bytes : {1, 2, 4, 8}) {
    wanted.push_back({"fill", {bytes, 1000, 7}});
    wanted.push_back({"gather", {bytes, I64, 1, 5000, 768, 1024}});
    wanted.push_back({"gather", {bytes, I32, 3, 50, 3, 10}});
  }
  expectNoSpills(wanted);
}

TEST(CudaKernelTexts, Scatters) {
  std::vector<Wanted> wanted;
  for (int64_t element : {F32, F64, F16, BF16, I64, I8})
    for (int64_t kind = 0; kind < 5; ++kind)
      wanted.push_back({"scatter", {kind, element, I64, 2, 100, 40, 300}});
  for (int64_t element : {F32, F64, F16, BF16, I32})
    wanted.push_back({"scatter_add", {element, I64, 1, 50257, 768, 8192}});
  expectNoSpills(wanted);
}

TEST(CudaKernelTexts, ScattersInAnyOrder) {
  std::vector<Wanted> wanted;
  for (int64_t element : {F32, F64}) {
    wanted.push_back({"scatter", {1, element, I64, 2, 100, 40, 300}});
    wanted.push_back({"scatter_add", {element, I64, 1, 50257, 768, 8192}});
  }
  expectNoSpills(wanted, /*fast=*/true);
}

TEST(CudaKernelTexts, SelectionsAndSums) {
  std::vector<Wanted> wanted = {{"norm", {}}, {"sum_pool", {F64, 3, 3, 8, 8, 8, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}};
  for (int64_t element : {F32, F64, F16, BF16, I64, U8}) {
    wanted.push_back({"top_k", {element, 8, 50000, 1, 8, 0}});
    wanted.push_back({"top_k", {element, 8, 500, 2, 100, 1}});
    wanted.push_back({"cumsum", {element, 8, 50000, 1, 0, 0}});
    wanted.push_back({"cumsum", {element, 8, 50, 9, 1, 1}});
    if (element != F16 && element != BF16)
      wanted.push_back({"max_pool", {element, 6, 2, 20, 20, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}});
    if (element <= BF16)
      wanted.push_back({"sum_squares", {element, 100000, 70, 0, 5000}});
  }
  expectNoSpills(wanted);
}

TEST(CudaKernelTexts, Attention) {
  std::vector<Wanted> wanted;
  for (bool gradient : {false, true})
    for (bool mask : {false, true}) {
      const char *kernel = gradient ? "attention_grad" : "attention";
      for (int64_t element : {F32, BF16})
        for (int64_t size : {64, 128})
          wanted.push_back({kernel, attention(element, size, true, mask, gradient), {0.125}});
      wanted.push_back({kernel, attention(F16, mask ? 256 : 128, false, mask, gradient), {0.125}});
    }
  expectNoSpills(wanted);
}

TEST(CudaKernelTexts, Convolutions) {
  std::vector<Wanted> wanted;
  for (const char *kernel : {"conv", "conv_transpose", "conv_weight_grad"})
    for (int64_t element : {F32, F64, F16, BF16}) {
      wanted.push_back({kernel, {element, 8, 64, 128, 1, 2, 56, 56, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}});
      wanted.push_back({kernel, {element, 8, 32, 32, 32, 2, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}});
    }
  wanted.push_back({"conv", {F32, 2000, 64, 128, 1, 2, 256, 256, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}}); // places of 64 bits
  expectNoSpills(wanted);
}

} // namespace
