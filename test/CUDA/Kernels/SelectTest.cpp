//===- SelectTest.cpp - top_k, cumsum and the pools -----------------------===//
#include "test/CUDA/Kernels/KernelCases.h"

using namespace zero;
using namespace zero::test;

namespace {

TEST(CudaSelect, TopK) {
  Numbers numbers(1);
  std::vector<Case> cases;
  for (int64_t element : {F32, F64, F16, BF16, I64, I32, I8, U8, I1, U64})
    for (int64_t k : {1, 5, 16, 17, 60}) {
      int64_t outer = numbers.between(1, 3), inner = numbers.between(1, 3), axis = k + numbers.between(0, k == 60 ? 400 : 300);
      Bytes in = numbers.elements(element, static_cast<uint64_t>(outer * axis * inner));
      if (element == F32) { // equals and NaN
        float values[] = {NAN, 1.0f, -0.0f, 0.0f};
        for (int64_t i = 0; i < outer * axis * inner; i += 3)
          std::memcpy(in.data() + i * 4, &values[i / 3 % 4], 4);
      }
      cases.push_back({"top_k", {element, outer, axis, inner, k, numbers.coin()}, {}, {in}, {{I64, static_cast<uint64_t>(outer * inner * k)}}});
    }
  expectSameOnDevice(cases);
}

TEST(CudaSelect, CumSum) {
  Numbers numbers(2);
  std::vector<Case> cases;
  for (int64_t element : {F32, F64, F16, BF16, I64, I32, I16, I8, U8, U16, U32, U64})
    for (int64_t axis : {1, 40, 511, 512, 1500}) {
      int64_t outer = numbers.between(1, 3), inner = numbers.between(1, 5);
      auto count = static_cast<uint64_t>(outer * axis * inner);
      // By blocks the doubles are added in another order, so that some sums are rounded to the other neighbour.
      constexpr double lastBit[] = {6e-8, 1e-14, 5e-4, 4e-3};
      double tolerance = element <= BF16 && axis >= 512 ? lastBit[element] : 0;
      cases.push_back({"cumsum", {element, outer, axis, inner, numbers.coin(), numbers.coin()}, {}, {numbers.elements(element, count)}, {{element, count, tolerance}}});
    }
  expectSameOnDevice(cases);
}

TEST(CudaSelect, Refuses) {
  int64_t many = int64_t{1} << 20;
  EXPECT_EQ(planCudaLaunches("top_k", std::vector<int64_t>{F32, many, many, 1, 100, 0}, {}, {}).status().message(),
            "kernel 'top_k' takes more than 2147483647 blocks, which is the most of a launch");
  EXPECT_EQ(planCudaLaunches("top_k", std::vector<int64_t>{F32, 1, 4, 1, 5, 0}, {}, {}).status().message(),
            "kernel 'top_k': k is 5 and axis_size only 4");
  EXPECT_EQ(planCudaLaunches("sum_pool", std::vector<int64_t>{I32, 1, 1, 4, 2, 1, 0, 0, 1}, {}, {}).status().message(),
            "kernel 'sum_pool': element type i32 is not supported, must be f32 or f64");
  EXPECT_EQ(planCudaLaunches("max_pool", std::vector<int64_t>{F32, 1, 1, 4, 2, 1, 2, 0, 1}, {}, {}).status().message(),
            "kernel 'max_pool': a window lies outside the data");
  EXPECT_EQ(planCudaLaunches("sort", {}, {}, {}).status().message(), "unknown kernel 'sort'");
}

TEST(CudaSelect, StatusWords) {
  CudaStatus words = {};
  EXPECT_TRUE(toStatus(words).ok());
  words.kernel = 9;
  EXPECT_EQ(toStatus(words).message(), "the device's status names kernel 9, of which there is none");
  EXPECT_EQ(toStatus(words).exitCode(), 1);
}

/// Integers of a pool whose windows all reach the data.
std::vector<int64_t> windowsOf(Numbers &numbers, int64_t element, int64_t rank, uint64_t &elements, uint64_t &results) {
  std::vector<int64_t> spatial, window, strides, low, high, dilations;
  int64_t planes = numbers.between(1, 5);
  elements = results = static_cast<uint64_t>(planes);
  for (int64_t i = 0; i < rank; ++i) {
    window.push_back(numbers.between(1, 3));
    dilations.push_back(numbers.between(1, 2));
    strides.push_back(numbers.between(1, 3));
    spatial.push_back(numbers.between(5, 14));
    low.push_back(numbers.between(0, window.back() / 2));
    high.push_back(numbers.between(0, window.back() / 2));
    int64_t room = low.back() + spatial.back() + high.back() - dilations.back() * (window.back() - 1);
    elements *= static_cast<uint64_t>(spatial.back());
    results *= static_cast<uint64_t>((room - 1) / strides.back() + 1);
  }
  std::vector<int64_t> integers = {element, planes, rank};
  for (const auto *list : {&spatial, &window, &strides, &low, &high, &dilations})
    integers.insert(integers.end(), list->begin(), list->end());
  return integers;
}

TEST(CudaSelect, Pools) {
  Numbers numbers(3);
  std::vector<Case> cases;
  for (int64_t rank : {1, 2, 3}) {
    for (int64_t element : {F32, F64, I64, I32, I16, I8, U8, I1}) {
      uint64_t elements, results;
      std::vector<int64_t> integers = windowsOf(numbers, element, rank, elements, results);
      cases.push_back({"max_pool", integers, {}, {numbers.elements(element, elements)}, {{element, results}, {I64, results}}});
    }
    for (int64_t element : {F32, F64}) {
      uint64_t elements, results;
      std::vector<int64_t> integers = windowsOf(numbers, element, rank, elements, results);
      cases.push_back({"sum_pool", integers, {}, {numbers.elements(element, elements)}, {{element, results}}});
    }
  }
  expectSameOnDevice(cases);
}

} // namespace
