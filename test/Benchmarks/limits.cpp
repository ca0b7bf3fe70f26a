//===- limits.cpp - What one core and the memory can do at most -----------===//
//
// Prints one JSON object: GFLOP/s of fused multiply-adds that depend on nothing (float32, and the dot product of bf16 pairs where
// the CPU has it), and GB/s of copies by one and two threads. With argument `fma`: without the copies. Best of several rounds.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <immintrin.h>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChains = 12, kRounds = 5;
constexpr long kSteps = 4000000;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Twelve chains hide the latency of two units; the empty assembly keeps each in a register.
__attribute__((target("avx512f"))) void multiplyAdd512() {
  __m512 sums[kChains], factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(1e-3f);
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (long step = 0; step < kSteps; ++step)
#pragma clang loop unroll(full)
    for (int chain = 0; chain < kChains; ++chain) {
      sums[chain] = _mm512_fmadd_ps(sums[chain], factor, addend);
      asm volatile("" : "+v"(sums[chain]));
    }
}

__attribute__((target("avx2,fma"))) void multiplyAdd256() {
  __m256 sums[kChains], factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(1e-3f);
  for (__m256 &sum : sums)
    sum = _mm256_setzero_ps();
  for (long step = 0; step < kSteps; ++step)
#pragma clang loop unroll(full)
    for (int chain = 0; chain < kChains; ++chain) {
      sums[chain] = _mm256_fmadd_ps(sums[chain], factor, addend);
      asm volatile("" : "+x"(sums[chain]));
    }
}

__attribute__((target("avx512f,avx512bf16"))) void dotBf16() {
  __m512 sums[kChains];
  __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f7f), b = (__m512bh)_mm512_set1_epi16(0x3a83);
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (long step = 0; step < kSteps; ++step)
#pragma clang loop unroll(full)
    for (int chain = 0; chain < kChains; ++chain) {
      sums[chain] = _mm512_dpbf16_ps(sums[chain], a, b);
      asm volatile("" : "+v"(sums[chain]));
    }
}

double bestGflops(void (*body)(), double flopsPerInstruction) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    Clock::time_point begin = Clock::now();
    body();
    best = std::min(best, secondsSince(begin));
  }
  return kChains * flopsPerInstruction * kSteps / best / 1e9;
}

double bestCopy(int threads) {
  constexpr size_t kBytes = size_t{256} << 20;
  std::vector<std::vector<char>> from(threads), to(threads);
  for (int i = 0; i < threads; ++i) {
    from[i].assign(kBytes, 1);
    to[i].assign(kBytes, 2);
  }
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> workers;
    std::barrier ready(threads + 1);
    for (int i = 0; i < threads; ++i)
      workers.emplace_back([&, i] {
        ready.arrive_and_wait();
        std::memcpy(to[i].data(), from[i].data(), kBytes);
      });
    ready.arrive_and_wait();
    Clock::time_point begin = Clock::now();
    for (std::thread &worker : workers)
      worker.join();
    best = std::min(best, secondsSince(begin));
  }
  return threads * static_cast<double>(kBytes) / best / 1e9;
}

} // namespace

int main(int argc, char **argv) {
  bool wide = __builtin_cpu_supports("avx512f");
  std::printf("{\"fma_f32_gflops\": %.1f", wide ? bestGflops(multiplyAdd512, 32) : bestGflops(multiplyAdd256, 16));
  if (wide && __builtin_cpu_supports("avx512bf16"))
    std::printf(", \"fma_bf16_gflops\": %.1f", bestGflops(dotBf16, 64));
  else
    std::printf(", \"fma_bf16_gflops\": null");
  if (argc < 2 || std::string_view(argv[1]) != "fma")
    std::printf(", \"copy_1_thread_gbytes\": %.1f, \"copy_2_threads_gbytes\": %.1f", bestCopy(1), bestCopy(2));
  std::printf("}\n");
}
