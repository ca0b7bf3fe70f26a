//===- CopyTest.cpp - strided_copy, fill ----------------------------------===//
#include "KernelHarness.h"
#include <numeric>

using namespace zero;
using namespace zero::test;

namespace {

/// Copies by the definition.
template <typename T>
void referenceCopy(const T *source, T *target, const std::vector<int64_t> &sizes,
                   const std::vector<int64_t> &from, const std::vector<int64_t> &to, size_t dimension = 0) {
  if (dimension == sizes.size()) {
    *target = *source;
    return;
  }
  for (int64_t i = 0; i < sizes[dimension]; ++i)
    referenceCopy(source + i * from[dimension], target + i * to[dimension], sizes, from, to, dimension + 1);
}

template <typename T>
void check(const std::vector<int64_t> &sizes, const std::vector<int64_t> &from,
           const std::vector<int64_t> &to, int64_t sourceOffset = 0, int64_t targetOffset = 0) {
  constexpr size_t size = 1 << 17;
  std::vector<T> source(size), expected(size, T(7));
  std::iota(source.begin(), source.end(), T(1));
  referenceCopy(source.data() + sourceOffset, expected.data() + targetOffset, sizes, from, to);
  std::vector<int64_t> integers{sizeof(T), static_cast<int64_t>(sizes.size())};
  integers.insert(integers.end(), sizes.begin(), sizes.end());
  integers.push_back(sourceOffset);
  integers.insert(integers.end(), from.begin(), from.end());
  integers.push_back(targetOffset);
  integers.insert(integers.end(), to.begin(), to.end());
  auto run = [&](ParallelFor &&parallel) {
    std::vector<T> target(size, T(7));
    EXPECT_OK(runKernel("strided_copy", integers, {}, {source.data(), target.data()}, std::move(parallel)));
    EXPECT_TRUE(target == expected) << testing::PrintToString(sizes) << " from "
                                    << testing::PrintToString(from) << " to " << testing::PrintToString(to)
                                    << ", " << sizeof(T) << " bytes";
  };
  run(Serial());
  run(Backwards());
  run(Threads(3));
}

template <typename T> void checkAll() {
  check<T>({}, {}, {});
  check<T>({100000}, {1}, {1}, 3, 5);
  check<T>({0, 4}, {4, 1}, {4, 1});
  check<T>({3, 5, 7}, {35, 7, 1}, {35, 7, 1});
  check<T>({67, 45}, {1, 67}, {45, 1}); // transpose
  check<T>({45, 67}, {67, 1}, {1, 45}); // the same, written the other way round
  check<T>({3, 33, 5, 31}, {33 * 5 * 31, 31, 33 * 31, 1},
           {33 * 5 * 31, 5 * 31, 31, 1});                          // middle dimensions exchanged
  check<T>({4, 37, 41}, {37 * 41, 1, 37}, {37 * 48, 48, 1}, 1, 3); // batched transpose into padded rows
  check<T>({9, 10}, {-10, -1}, {10, 1}, 89);                       // reversed
  check<T>({6, 50}, {1, 0}, {50, 1});                              // broadcast
  check<T>({6, 50}, {0, 1}, {50, 1});
  check<T>({10, 10}, {200, 3}, {77, 2});                  // single elements
  check<T>({1, 20, 1, 30}, {9, 30, 9, 1}, {5, 40, 5, 1}); // dimensions of one element
}

TEST(StridedCopy, EveryElementSize) {
  checkAll<uint8_t>();
  checkAll<uint16_t>();
  checkAll<uint32_t>();
  checkAll<uint64_t>();
}

TEST(StridedCopy, Refuses) {
  EXPECT_EQ(runKernel("strided_copy", {4, 1, 3, 0, 1, 0, 0}, {}, {}).message(),
            "kernel 'strided_copy': target stride of dimension 0 is 0 for 3 elements");
  EXPECT_EQ(runKernel("strided_copy", {4, 1, -3, 0, 1, 0, 1}, {}, {}).message(),
            "kernel 'strided_copy': size of dimension 0 is -3");
  EXPECT_EQ(runKernel("strided_copy", {3, 0, 0, 0}, {}, {}).message(),
            "kernel 'strided_copy': element size 3 is not supported, must be 1, 2, 4 or 8");
  EXPECT_EQ(runKernel("strided_copy", {4, 2, 1}, {}, {}).message(),
            "kernel 'strided_copy': takes 10 integers, got 3");
  std::vector<int64_t> integers{4, 17};
  integers.resize(2 + 3 * 17 + 2, 1);
  EXPECT_EQ(runKernel("strided_copy", integers, {}, {}).message(),
            "kernel 'strided_copy': rank is 17, must be at most 16");
}

template <typename T> std::vector<T> filled(int64_t bits) {
  std::vector<T> out(40003, T(9));
  EXPECT_OK(runKernel("fill", {sizeof(T), 40001, bits}, {}, {out.data()}, Threads(2)));
  EXPECT_EQ(out[40001], T(9));
  EXPECT_EQ(out[0], out[40000]);
  return out;
}

TEST(Fill, EveryWidth) {
  EXPECT_EQ(filled<float>(0x3fc00000)[1], 1.5f);
  EXPECT_EQ(filled<double>(0x3ff8000000000000)[1], 1.5);
  EXPECT_EQ(filled<int64_t>(-3)[1], -3);
  EXPECT_EQ(filled<uint64_t>(-1)[1], ~uint64_t(0));
  EXPECT_EQ(filled<int32_t>(-3)[1], -3);
  EXPECT_EQ(filled<uint16_t>(0x3e00)[1], 0x3e00);
  EXPECT_EQ(filled<uint8_t>(200)[1], 200);
}

TEST(Fill, Refuses) {
  EXPECT_EQ(runKernel("fill", {3, 4, 0}, {}, {}).message(),
            "kernel 'fill': element_bytes is 3, must be 1, 2, 4 or 8");
  EXPECT_EQ(runKernel("fill", {4, -4, 0}, {}, {}).message(),
            "kernel 'fill': count is -4, must not be negative");
}

TEST(Dispatch, Refuses) {
  EXPECT_EQ(runKernel("warp", {}, {}, {}).message(), "unknown kernel 'warp'");
  EXPECT_EQ(runKernel("fused_matmul", {}, {}, {}).message(), "kernel 'fused_matmul': is of programs for GPUs");
}

} // namespace
