//===- CopyTest.cpp - fill, strided_copy and the indexed kernels: bits ----===//
#include "test/CUDA/Kernels/KernelCases.h"
#include <numeric>

using namespace zero;
using namespace zero::test;

namespace {

/// A copy of a dense array of these sizes, its dimensions in this order on the other side.
Case copyOf(Numbers &numbers, int64_t bytes, std::vector<int64_t> sizes, std::vector<size_t> order, bool isBroadcast, bool isReversed) {
  size_t rank = sizes.size();
  std::vector<int64_t> source(rank), target(rank);
  int64_t count = 1, targetCount = 1, sourceOffset = 0;
  for (size_t i = rank; i-- > 0; count *= std::max<int64_t>(sizes[i], 1))
    source[i] = count;
  for (size_t i = rank; i-- > 0;) {
    target[order[i]] = targetCount;
    targetCount *= std::max<int64_t>(sizes[order[i]], 1);
  }
  if (isBroadcast && rank)
    source[0] = 0;
  if (isReversed && rank) {
    sourceOffset += source[rank - 1] * (sizes[rank - 1] - 1);
    source[rank - 1] *= -1;
  }
  std::vector<int64_t> integers = {bytes, static_cast<int64_t>(rank)};
  integers.insert(integers.end(), sizes.begin(), sizes.end());
  integers.push_back(sourceOffset);
  integers.insert(integers.end(), source.begin(), source.end());
  integers.push_back(0);
  integers.insert(integers.end(), target.begin(), target.end());
  int64_t element = bytes == 1 ? U8 : bytes == 2 ? U16 : bytes == 4 ? U32 : U64;
  return {"strided_copy", integers, {}, {numbers.elements(element, static_cast<uint64_t>(count))}, {{element, static_cast<uint64_t>(targetCount)}}};
}

TEST(CudaCopy, StridedCopies) {
  Numbers numbers(1);
  std::vector<Case> cases = {copyOf(numbers, 4, {}, {}, false, false), copyOf(numbers, 4, {5}, {0}, false, true),
                             copyOf(numbers, 2, {64, 96}, {1, 0}, false, false), copyOf(numbers, 1, {33, 65}, {1, 0}, false, false),
                             copyOf(numbers, 8, {3, 40, 70}, {0, 2, 1}, false, false), copyOf(numbers, 4, {2, 16, 4, 24}, {0, 2, 1, 3}, false, false),
                             copyOf(numbers, 4, {7, 1000}, {0, 1}, true, false), copyOf(numbers, 4, {2, 0, 3}, {0, 1, 2}, false, false)};
  for (int i = 0; i < 24; ++i) {
    std::vector<int64_t> sizes(static_cast<size_t>(numbers.between(1, 4)));
    for (int64_t &size : sizes)
      size = numbers.between(1, 40);
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    for (size_t j = order.size(); j > 1; --j)
      std::swap(order[j - 1], order[static_cast<size_t>(numbers.between(0, static_cast<int64_t>(j) - 1))]);
    int64_t bytes = int64_t{1} << numbers.between(0, 3);
    cases.push_back(copyOf(numbers, bytes, sizes, order, numbers.coin(), numbers.coin()));
    cases.back().misaligned = numbers.coin() ? static_cast<uint64_t>(bytes) : 0;
  }
  expectSameOnDevice(cases);
}

TEST(CudaCopy, Fill) {
  Numbers numbers(2);
  std::vector<Case> cases;
  for (int64_t bytes : {1, 2, 4, 8})
    for (int64_t count : {0, 1, 3, 16, 1000, 4097}) {
      int64_t element = bytes == 1 ? U8 : bytes == 2 ? U16 : bytes == 4 ? U32 : U64;
      cases.push_back({"fill", {bytes, count, numbers.between(INT64_MIN, INT64_MAX)}, {}, {}, {{element, static_cast<uint64_t>(count)}}});
      cases.back().misaligned = static_cast<uint64_t>(numbers.coin() ? bytes : 0);
    }
  expectSameOnDevice(cases);
}

TEST(CudaCopy, Gather) {
  Numbers numbers(3);
  std::vector<Case> cases;
  for (int64_t index : {I64, I32, I16, I8, U8, U16, U32, U64})
    for (int64_t element : {U8, U16, F32, F64}) {
      int64_t outer = numbers.between(1, 4), axis = numbers.between(1, 100), inner = numbers.between(1, 40), count = numbers.between(1, 50);
      cases.push_back({"gather",
                       {static_cast<int64_t>(bytesOf(element)), index, outer, axis, inner, count},
                       {},
                       {numbers.elements(element, static_cast<uint64_t>(outer * axis * inner)), numbers.indices(index, static_cast<uint64_t>(count), axis)},
                       {{element, static_cast<uint64_t>(outer * count * inner)}}});
      cases.back().misaligned = numbers.coin() ? 8 : 0;
    }
  expectSameOnDevice(cases);
}

TEST(CudaCopy, Scatters) {
  Numbers numbers(4);
  std::vector<Case> cases;
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1}, {7, 3}, {100, 1}, {40, 64}, {5, 300}, {3000, 2}, {300, 520}};
  size_t next = 0;
  for (int64_t element : {F32, F64, F16, BF16, I64, I32, I16, I8, U8, I1, U16, U32, U64})
    for (int64_t kind = -1; kind < 5; ++kind) { // -1: scatter_add
      if (element == I1 && kind != 0)
        continue;
      auto [axis, inner] = shapes[next++ % std::size(shapes)];
      int64_t outer = numbers.between(1, 2), count = numbers.between(0, 700), index = axis < 128 ? numbers.between(I64, U8) : I32;
      std::vector<int64_t> integers = {element, index, outer, axis, inner, count};
      std::vector<Bytes> reads = {numbers.elements(element, static_cast<uint64_t>(outer * count * inner)), numbers.indices(index, static_cast<uint64_t>(count), axis)};
      auto elements = static_cast<uint64_t>(outer * axis * inner);
      if (kind >= 0) {
        integers.insert(integers.begin(), kind);
        reads.insert(reads.begin(), numbers.elements(element, elements));
      }
      cases.push_back({kind < 0 ? "scatter_add" : "scatter", integers, {}, reads, {{element, elements}}});
    }
  expectSameOnDevice(cases);
}

CudaOptions fast() {
  CudaOptions options;
  options.fast = true;
  return options;
}

/// With --fast sums of f32 and f64 have no order; what else is scattered is launched as ever.
TEST(CudaCopy, ScattersInAnyOrder) {
  Numbers numbers(6);
  std::vector<Case> cases;
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1}, {7, 3}, {100, 1}, {40, 64}, {5, 300}, {3000, 2}, {300, 520}};
  for (int64_t element : {F32, F64})
    for (bool fromZero : {false, true})
      for (auto [axis, inner] : shapes) {
        int64_t outer = numbers.between(1, 2), count = axis == 7 ? 0 : numbers.between(1, 700);
        std::vector<int64_t> integers = {element, I32, outer, axis, inner, count};
        std::vector<Bytes> reads = {numbers.elements(element, static_cast<uint64_t>(outer * count * inner)), numbers.indices(I32, static_cast<uint64_t>(count), axis)};
        auto elements = static_cast<uint64_t>(outer * axis * inner);
        if (!fromZero) {
          integers.insert(integers.begin(), 1);
          reads.insert(reads.begin(), numbers.elements(element, elements));
        }
        cases.push_back({fromZero ? "scatter_add" : "scatter", integers, {}, reads, {{element, elements, element == F32 ? 1e-5 : 1e-14}}});
        cases.back().misaligned = numbers.coin() ? bytesOf(element) : 0;
      }
  expectSameOnDevice(cases, fast());
}

TEST(CudaCopy, WhatIsScatteredByAtomics) {
  auto symbols = [](const char *kernel, std::vector<int64_t> integers, const CudaOptions &options) {
    std::vector<std::string> texts;
    auto launches = planCudaLaunches(kernel, integers, {}, options);
    EXPECT_TRUE(launches.ok()) << launches.status().message();
    for (const CudaLaunch &launch : *launches)
      texts.push_back(launch.instantiation);
    return texts;
  };
  auto areAtomic = [&](const char *kernel, std::vector<int64_t> integers) {
    EXPECT_EQ(symbols(kernel, integers, CudaOptions()).size(), 1u);
    std::vector<std::string> texts = symbols(kernel, integers, fast());
    bool adds = texts.back().find("addAtomically") != std::string::npos;
    EXPECT_EQ(adds, texts != symbols(kernel, integers, CudaOptions()));
    return adds;
  };
  for (int64_t element : {F32, F64, F16, BF16, I64}) {
    bool isWide = element == F32 || element == F64;
    EXPECT_EQ(areAtomic("scatter_add", {element, I32, 1, 5, 3, 300}), isWide);
    for (int64_t kind = 0; kind < 5; ++kind)
      EXPECT_EQ(areAtomic("scatter", {kind, element, I32, 1, 5, 3, 300}), isWide && kind == 1);
  }
}

TEST(CudaCopy, ExtremaOfNaNAndZeros) {
  std::vector<float> data = {0.0f, -0.0f, NAN, 1.0f}, updates = {-0.0f, 0.0f, 2.0f, NAN};
  std::vector<int32_t> indices = {0, 1, 2, 3};
  auto bytes = [](const auto &values) {
    auto *begin = reinterpret_cast<const std::byte *>(values.data());
    return Bytes(begin, begin + values.size() * sizeof(values[0]));
  };
  std::vector<Case> cases;
  for (int64_t kind : {3, 4})
    cases.push_back({"scatter", {kind, F32, I32, 1, 4, 1, 4}, {}, {bytes(data), bytes(updates), bytes(indices)}, {{F32, 4}}});
  expectSameOnDevice(cases);
}

TEST(CudaCopy, IndicesOutOfRange) {
  if (!device())
    GTEST_SKIP() << "no CUDA device (ZERO_CUDA_LIBRARY_PATH names a simulated one)";
  Numbers numbers(5);
  std::vector<int32_t> indices(300, 1);
  indices[37] = 9;
  indices[12] = -4;
  indices[290] = 5;
  auto *begin = reinterpret_cast<const std::byte *>(indices.data());
  Bytes positions(begin, begin + indices.size() * 4), data = numbers.elements(F32, 5 * 3), updates = numbers.elements(F32, 300 * 3);
  std::vector<Case> cases = {{"gather", {4, I32, 1, 5, 3, 300}, {}, {data, positions}, {{F32, 900}}},
                             {"scatter_add", {F32, I32, 1, 5, 3, 300}, {}, {updates, positions}, {{F32, 15}}},
                             {"scatter", {0, F32, I32, 1, 5, 3, 300}, {}, {data, updates, positions}, {{F32, 15}}}};
  std::vector<DeviceResult> results = runOnDevice(cases);
  cases.push_back(cases[1]);
  cases.push_back({"scatter", {1, F32, I32, 1, 5, 3, 300}, {}, {data, updates, positions}, {{F32, 15}}});
  for (DeviceResult &result : runOnDevice({cases[3], cases[4]}, fast()))
    results.push_back(std::move(result));
  ASSERT_EQ(results.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_FALSE(results[i].status.ok());
    // Whichever thread came first.
    std::string message = results[i].status.message(), index = message.substr(0, message.find(" is outside"));
    EXPECT_TRUE(index == cases[i].kernel + ": index 9 at position 37" || index == cases[i].kernel + ": index -4 at position 12" ||
                index == cases[i].kernel + ": index 5 at position 290")
        << message;
    EXPECT_NE(message.find(" is outside [0, 5)"), std::string::npos);
    EXPECT_EQ(results[i].status.exitCode(), 3);
  }

  // An error of an earlier launch is kept, whatever its command's number.
  for (Case &one : cases)
    one.raised = {1, 1, 9, 1, 6, 2};
  for (const DeviceResult &result : runOnDevice(cases))
    EXPECT_EQ(result.status.message(), "gather: index 6 at position 1 is outside [0, 2)");
}

} // namespace
