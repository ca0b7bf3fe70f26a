//===- AttentionTest.cpp - attention and attention_grad -------------------===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "zero/Runtime/Kernels/Workspace.h"
#include <cmath>

using namespace zero;
using namespace zero::test;

namespace {

struct Shape {
  int64_t B, T, S, H, G, D;
  bool causal = false;
  int64_t maskB = 0, maskH = 0;
  bool headsFirst = false; ///< B x H x T x D in memory
};

/// Largest difference over the largest number, for results and gradients: exponentials and sums in another order, then one rounding.
/// Gradients of 16 bits go through a rounded result.
constexpr double kOutTolerance[] = {1e-5, 0, 1e-3, 8e-3}, kGradientTolerance[] = {3e-5, 0, 3e-3, 2e-2};

std::vector<int64_t> stridesOf(const Shape &x, int64_t positions, int64_t heads) {
  if (x.headsFirst)
    return {positions * heads * x.D, x.D, positions * x.D};
  return {positions * heads * x.D, heads * x.D, x.D};
}

/// Forward, and backward from what the CPU's forward kernel gives.
void addCases(Numbers &numbers, std::vector<Case> &cases, int64_t element, const Shape &x) {
  bool hasMask = x.maskB != 0;
  std::vector<int64_t> integers = {element, x.B, x.T, x.S, x.H, x.G, x.D, x.causal, hasMask, x.maskB, x.maskH};
  std::vector<int64_t> query = stridesOf(x, x.T, x.H), key = stridesOf(x, x.S, x.G);
  auto append = [](std::vector<int64_t> &to, std::initializer_list<const std::vector<int64_t> *> lists) {
    for (const auto *list : lists)
      to.insert(to.end(), list->begin(), list->end());
  };
  std::vector<int64_t> forward = integers, backward = integers;
  append(forward, {&query, &key, &key, &query});
  append(backward, {&query, &key, &key, &query, &query, &query, &key, &key});
  auto queries = static_cast<uint64_t>(x.B * x.T * x.H * x.D), keys = static_cast<uint64_t>(x.B * x.S * x.G * x.D),
       rows = static_cast<uint64_t>(x.B * x.H * x.T);
  std::vector<Bytes> reads = {numbers.elements(element, queries), numbers.elements(element, keys), numbers.elements(element, keys)};
  if (hasMask) {
    reads.push_back(numbers.elements(element, static_cast<uint64_t>(x.maskB * x.maskH * x.T * x.S)));
    uint64_t bytes = bytesOf(element);
    for (uint64_t i = 0; i < reads.back().size() / bytes; i += 3) // hidden, but for the first key
      if (i % static_cast<uint64_t>(x.S)) {
        float hidden = -INFINITY;
        uint16_t narrow = element == F16 ? 0xfc00 : 0xff80;
        std::memcpy(reads.back().data() + i * bytes, bytes == 4 ? static_cast<const void *>(&hidden) : &narrow, bytes);
      }
  }
  std::vector<double> reals = {1 / std::sqrt(static_cast<double>(x.D))};
  Case one = {"attention", forward, reals, reads, {{element, queries, kOutTolerance[element]}, {F32, rows, 1e-5}}};
  std::vector<Bytes> results = runOnHost(one);
  cases.push_back(std::move(one));
  reads.insert(reads.end(), results.begin(), results.end());
  reads.push_back(numbers.elements(element, queries));
  double tolerance = kGradientTolerance[element];
  cases.push_back({"attention_grad", backward, reals, reads, {{element, queries, tolerance}, {element, keys, tolerance}, {element, keys, tolerance}}});
}

void check(std::initializer_list<Shape> shapes) {
  if (!device())
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  Numbers numbers(1);
  std::vector<Case> cases;
  for (const Shape &shape : shapes)
    for (int64_t element : {F32, F16, BF16})
      addCases(numbers, cases, element, shape);
  expectSameOnDevice(cases);
}

TEST(CudaAttention, Shapes) { check({{1, 64, 64, 2, 2, 64}, {1, 1, 1, 1, 1, 1}, {2, 5, 7, 3, 3, 3}, {1, 70, 130, 2, 2, 16}, {1, 17, 33, 2, 2, 80}}); }

TEST(CudaAttention, Causal) { check({{1, 130, 130, 1, 1, 24, true}, {2, 37, 37, 2, 2, 8, true, 0, 0, true}, {1, 20, 150, 2, 2, 32, true}, {1, 1, 90, 2, 2, 32, true}}); }

TEST(CudaAttention, GroupedQueries) { check({{2, 33, 33, 6, 2, 16, true}, {1, 65, 65, 4, 1, 12}}); }

TEST(CudaAttention, Mask) { check({{2, 33, 70, 2, 2, 16, false, 1, 1}, {2, 20, 20, 4, 2, 16, true, 2, 4}, {2, 33, 40, 2, 2, 16, false, 2, 1}}); }

TEST(CudaAttention, WideHeads) { check({{1, 40, 70, 1, 1, 128, true}, {1, 9, 20, 1, 1, 200}}); }

TEST(CudaAttention, NoElements) { check({{0, 4, 4, 2, 2, 8}, {2, 0, 4, 2, 2, 8}, {2, 4, 4, 0, 0, 8}}); }

TEST(CudaAttention, Refuses) {
  auto message = [](std::vector<int64_t> integers, std::vector<double> reals = {1}) {
    integers.resize(23);
    return planCudaLaunches("attention", integers, reals, {}).status().message();
  };
  EXPECT_EQ(message({F32, 1, 4, 4, 3, 2, 8}), "kernel 'attention': H = 3 is not a multiple of G = 2");
  EXPECT_EQ(message({F32, 4, 4, 4, 2, 2, 8, 0, 1, 2, 1}), "kernel 'attention': mask of 2 x 1 matrices does not fit 4 x 2");
  EXPECT_EQ(message({F32, 4, 4, 4, 2, 2, 8}, {}), "kernel 'attention': takes 1 real, got 0");
  EXPECT_EQ(message({F64, 4, 4, 4, 2, 2, 8}), "kernel 'attention': element type f64 is not supported, must be f32, f16 or bf16");
}

} // namespace
