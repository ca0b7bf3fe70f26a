//===- CudaCodegenTest.cpp - What NVRTC and its assembler say -------------===//
#include "lib/Codegen/CUDA/AssemblerLog.h"
#include "zero/Runtime/Base/LoadedLibrary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace zero;

namespace {

TEST(CudaCodegen, ReadsTheAssemblersLog) {
  std::vector<CudaKernelUse> uses = parseAssemblerLog(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'bias' for 'sm_90'
ptxas info    : Function properties for bias
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem
ptxas info    : Compiling entry function 'wide' for 'sm_90'
ptxas info    : Function properties for wide
    48 bytes stack frame, 40 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 48 bytes cumulative stack size
)",
                                                      "sm_90");
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].kernel, "bias");
  EXPECT_EQ(uses[0].architecture, "sm_90");
  EXPECT_EQ(uses[0].registers, 40);
  EXPECT_EQ(uses[0].sharedBytes, 2048);
  EXPECT_EQ(uses[0].spillBytes, 0);
  EXPECT_EQ(uses[1].kernel, "wide");
  EXPECT_EQ(uses[1].registers, 255);
  EXPECT_EQ(uses[1].localBytes, 48);
  EXPECT_EQ(uses[1].spillBytes, 76);
  EXPECT_TRUE(parseAssemblerLog("", "sm_90").empty());
}

TEST(CudaCodegen, ReportsWhatIsKnown) {
  auto report = [](const CudaCode &code) {
    std::string text;
    llvm::raw_string_ostream os(text);
    writeCudaReport(code, os);
    return text;
  };
  EXPECT_THAT(report({}), testing::HasSubstr("\"kernels\": null"));
  CudaCode code;
  code.uses = {{"k", "sm_80", 32, 8, 16, 64}};
  for (const char *part : {"\"kernel\": \"k\"", "\"architecture\": \"sm_80\"", "\"registers\": 32", "\"spill_bytes\": 8", "\"local_bytes\": 16", "\"shared_bytes\": 64"})
    EXPECT_THAT(report(code), testing::HasSubstr(part));
}

/// With the compiler of the toolkit, where it is installed; it needs no GPU.
class WithNvrtc : public testing::Test {
protected:
  void SetUp() override {
    if (!LoadedLibrary::open("libnvrtc.so.13").ok())
      GTEST_SKIP() << "there is no NVRTC";
    Expected<CudaCode> code = compileCuda(kKernel, {"sm_80"});
    if (!code.ok() && code.status().code() == ErrorCode::WrongUsage)
      GTEST_SKIP() << code.status().message();
  }
  static constexpr const char *kKernel = "extern \"C\" __global__ void k(float *p) { p[threadIdx.x] = 1.0f; }";
};

TEST_F(WithNvrtc, GivesCodeForEachArchitectureAndTextOfTheLast) {
  Expected<CudaCode> code = compileCuda(kKernel, {"sm_80", "sm_90"});
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->source, kKernel);
  std::vector<std::string> labels;
  for (const CudaImage &image : code->images) {
    labels.push_back(image.label);
    EXPECT_EQ(image.isPtx, image.label == "compute_90");
    const char *sign = image.isPtx ? ".visible .entry k(" : "\x7f" "ELF";
    EXPECT_THAT(image.bytes, testing::HasSubstr(sign));
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"sm_80", "sm_90", "compute_90"}));
}

TEST_F(WithNvrtc, ErrorsNameTheArchitecture) {
  Expected<CudaCode> code = compileCuda("extern \"C\" __global__ void k(float *p) { p[0] = nothing; }", {"sm_90"});
  ASSERT_FALSE(code.ok());
  EXPECT_THAT(code.status().message(), testing::StartsWith("compiling CUDA kernels for sm_90 failed: "));
  EXPECT_THAT(code.status().message(), testing::HasSubstr("identifier \"nothing\" is undefined"));
  EXPECT_EQ(code.status().exitCode(), 1);
  code = compileCuda(kKernel, {"sm_81"});
  ASSERT_FALSE(code.ok());
  EXPECT_THAT(code.status().message(), testing::StartsWith("NVRTC does not compile for 'sm_81': "));
  EXPECT_EQ(code.status().exitCode(), 3);
}

TEST_F(WithNvrtc, TakesThePrelude) {
  const std::string prelude = getCudaPrelude().str();
  Expected<CudaCode> code = compileCuda(prelude + R"(
template <typename T> __device__ void useInteger(T *p) {
  p[0] = integerQuotient(p[1], p[2]);
  p[1] = integerRemainder(p[1], p[2]);
  p[2] = integerPower(p[1], p[2]);
  p[3] = shiftLeft(p[1], p[2]);
  p[4] = shiftRight(p[1], p[2]);
  p[5] = saturatingCast<T>(1.5f);
  p[6] = saturatingCast<T>(1.5);
  p[7] = maximum(p[6], smallestInteger<T>);
  p[8] = minimum(p[6], largestInteger<T>);
  p[9] = shuffleXor(0xffffffffu, p[9], 1);
}
extern "C" __global__ void integers(i8 *a, u8 *b, i16 *c, u16 *d, i32 *e, u32 *f, i64 *g, u64 *h) {
  useInteger(a), useInteger(b), useInteger(c), useInteger(d), useInteger(e), useInteger(f), useInteger(g), useInteger(h);
}
extern "C" __global__ void floats(f32 *x, bf16 *y, f16 *z, double *w) {
  bf16 pack[8];
  loadVector<16>(pack, y);
  pack[0] = fromFloat<bf16>(roundTo<f16>(x[0]) + toFloat(z[0]) + narrowToOdd(w[0]));
  storeVector<4>(y, pack);
  z[1] = fromFloat<f16>(sigmoid(x[1]) + signOf(x[2]) + shuffleXor(0xffffffffu, w[1], 2));
}
)",
                                        {"sm_80", "sm_90", "sm_100"});
  EXPECT_TRUE(code.ok()) << code.status().message();
}

} // namespace
