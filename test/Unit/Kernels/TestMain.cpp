//===- TestMain.cpp - Skips the run of a variant that this CPU lacks ------===//
#include "KernelHarness.h"
#include <cstdio>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512cd");
  if (zero::test::testVariant() == zero::CpuVariant::X86_64_V4 && !v4) {
    std::puts("skipped: this CPU has no AVX-512");
    return 77;
  }
  if (zero::test::testOptions().bf16Products && !__builtin_cpu_supports("avx512bf16")) {
    std::puts("skipped: this CPU has no AVX512_BF16");
    return 77;
  }
  return RUN_ALL_TESTS();
}
