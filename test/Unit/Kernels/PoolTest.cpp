//===- PoolTest.cpp - max_pool, sum_pool ----------------------------------===//
#include "KernelHarness.h"
#include <cmath>
#include <limits>

using namespace zero;
using namespace zero::test;

namespace {

struct Pool {
  int64_t planes;
  std::vector<int64_t> spatial, window, strides, low, high, dilations;

  std::vector<int64_t> integers(int64_t element = 0) const {
    std::vector<int64_t> all{element, planes, static_cast<int64_t>(spatial.size())};
    for (const auto *list : {&spatial, &window, &strides, &low, &high, &dilations})
      all.insert(all.end(), list->begin(), list->end());
    return all;
  }
  std::vector<int64_t> positions() const {
    std::vector<int64_t> result;
    for (size_t i = 0; i < spatial.size(); ++i) {
      int64_t room = low[i] + spatial[i] + high[i] - dilations[i] * (window[i] - 1);
      result.push_back(room < 1 ? 0 : (room - 1) / strides[i] + 1);
    }
    return result;
  }
};

int64_t product(const std::vector<int64_t> &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Calls visit(result, place within the plane, plane) for each element that a window reads, in order.
template <typename Visit> void forEachElement(const Pool &pool, Visit visit) {
  std::vector<int64_t> positions = pool.positions();
  int64_t count = product(positions), taps = product(pool.window);
  for (int64_t plane = 0; plane < pool.planes; ++plane)
    for (int64_t o = 0; o < count; ++o)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t place = 0, restO = o, restTap = tap, scale = 1;
        bool inside = true;
        for (size_t i = pool.spatial.size(); i-- > 0;) {
          int64_t at = restO % positions[i] * pool.strides[i] - pool.low[i] +
                       restTap % pool.window[i] * pool.dilations[i];
          inside &= at >= 0 && at < pool.spatial[i];
          place += at * scale;
          scale *= pool.spatial[i];
          restO /= positions[i];
          restTap /= pool.window[i];
        }
        if (inside)
          visit(plane * count + o, place, plane);
      }
}

template <typename T> void checkMax(const Pool &pool, int64_t element, const std::vector<T> &data) {
  int64_t count = pool.planes * product(pool.positions()), size = product(pool.spatial);
  std::vector<T> expected(count), out(count);
  std::vector<int64_t> at(count, -1), indices(count);
  forEachElement(pool, [&](int64_t o, int64_t place, int64_t plane) {
    T value = data[plane * size + place];
    bool isNaN = value != value, bestIsNaN = expected[o] != expected[o];
    if (at[o] >= 0 && !(value > expected[o]) && !(isNaN && !bestIsNaN))
      return;
    expected[o] = value;
    at[o] = place;
  });
  for (int i = 0; i < 3; ++i) {
    std::fill(out.begin(), out.end(), T(3));
    std::vector<const void *> pointers{data.data(), out.data(), indices.data()};
    EXPECT_OK(i == 0   ? runKernel("max_pool", pool.integers(element), {}, pointers)
              : i == 1 ? runKernel("max_pool", pool.integers(element), {}, pointers, Backwards())
                       : runKernel("max_pool", pool.integers(element), {}, pointers, Threads(3)));
    EXPECT_TRUE(sameBits(out, expected));
    EXPECT_EQ(indices, at);
  }
}

template <typename T> void checkSum(const Pool &pool, int64_t element, const std::vector<T> &data) {
  int64_t count = pool.planes * product(pool.positions()), size = product(pool.spatial);
  std::vector<T> expected(count), out(count, T(3));
  forEachElement(pool,
                 [&](int64_t o, int64_t place, int64_t plane) { expected[o] += data[plane * size + place]; });
  EXPECT_OK(runKernel("sum_pool", pool.integers(element), {}, {data.data(), out.data()}));
  EXPECT_TRUE(sameBits(out, expected)); // one order, row-major in the window
  EXPECT_OK(runKernel("sum_pool", pool.integers(element), {}, {data.data(), out.data()}, Backwards()));
  EXPECT_TRUE(sameBits(out, expected));
}

void check(const Pool &pool, bool sumAlone = false) {
  SCOPED_TRACE(testing::PrintToString(pool.integers()));
  std::vector<float> floats = randomFloats(pool.planes * product(pool.spatial), 1);
  checkSum(pool, 0, floats);
  checkSum(pool, 1, std::vector<double>(floats.begin(), floats.end()));
  if (sumAlone)
    return;
  for (size_t i = 0; i < floats.size(); ++i) // equal elements, zeros of both signs, NaN
    if (i % 7 < 3)
      floats[i] = i % 7 == 0 ? 0.0f : i % 7 == 1 ? -0.0f : i % 49 == 2 ? NAN : std::round(floats[i]);
  checkMax(pool, 0, floats);
  checkMax(pool, 1, std::vector<double>(floats.begin(), floats.end()));
  std::vector<int64_t> integers;
  for (size_t i = 0; i < floats.size(); ++i)
    integers.push_back(static_cast<int64_t>(i * 7919 % 300) - 150);
  auto as = [&]<typename T>(T) { return std::vector<T>(integers.begin(), integers.end()); };
  checkMax(pool, 4, integers);
  checkMax(pool, 5, as(int32_t()));
  checkMax(pool, 6, as(int16_t()));
  checkMax(pool, 7, as(int8_t()));
  checkMax(pool, 8, as(uint8_t()));
}

TEST(Pool, Planes) {
  check({6, {8, 8}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}});
  check({3, {15, 67}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
  check({3, {9, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  check({2, {9, 17}, {2, 3}, {3, 3}, {0, 0}, {1, 2}, {1, 1}});
  check({2, {11, 20}, {3, 3}, {1, 2}, {1, 2}, {2, 1}, {2, 3}});
  check({2, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
  check({5, {7, 7}, {7, 7}, {7, 7}, {0, 0}, {0, 0}, {1, 1}});
}

TEST(Pool, LinesAndVolumes) {
  check({4, {30}, {3}, {2}, {1}, {0}, {1}});
  check({4, {100}, {40}, {1}, {7}, {9}, {1}});
  check({2, {300}, {3}, {2}, {1}, {1}, {1}}); // several tiles of a row
  check({3, {4, 6, 8}, {2, 3, 2}, {2, 1, 2}, {0, 1, 0}, {0, 1, 0}, {1, 1, 1}});
}

TEST(Pool, SumsWithUnusualPadding) {
  check({3, {9, 20}, {2, 2}, {1, 1}, {-1, -3}, {-2, 0}, {1, 1}}, true);
  check({3, {5, 5}, {2, 2}, {1, 1}, {4, 3}, {3, 5}, {1, 2}}, true);
  check({1, {1}, {2}, {1}, {3}, {2}, {1}}, true);
}

TEST(Pool, NoElements) {
  check({0, {4}, {2}, {1}, {0}, {0}, {1}});
  check({3, {1}, {2}, {1}, {0}, {0}, {1}});
  check({3, {0}, {2}, {1}, {1}, {1}, {1}}, true);
}

TEST(Pool, Refuses) {
  auto message = [](const char *kernel, std::vector<int64_t> integers) {
    return runKernel(kernel, integers, {}, {}).message();
  };
  EXPECT_EQ(message("max_pool", {3, 1, 1, 4, 2, 1, 0, 0, 1}),
            "kernel 'max_pool': element type bf16 is not supported, must be an integer, f32 or f64");
  EXPECT_EQ(message("sum_pool", {5, 1, 1, 4, 2, 1, 0, 0, 1}),
            "kernel 'sum_pool': element type i32 is not supported, must be f32 or f64");
  EXPECT_EQ(message("sum_pool", {0, 1, 0, 4, 2, 1, 0, 0, 1}), "kernel 'sum_pool': rank is 0, outside [1, 3]");
  EXPECT_EQ(message("max_pool", {0, 1, 1, 4, 0, 1, 0, 0, 1}),
            "kernel 'max_pool': window is 0, must be at least 1");
  EXPECT_EQ(message("max_pool", {0, 1, 1, 4, 2, 1, -1, 0, 1}),
            "kernel 'max_pool': low is -1, must not be negative");
  EXPECT_EQ(message("max_pool", {0, 1, 1, 4, 2, 1, 2, 0, 1}),
            "kernel 'max_pool': a window lies outside the data");
  EXPECT_EQ(message("max_pool", {0, 1, 2, 65536, 65536, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1}),
            "kernel 'max_pool': a plane has 4294967296 elements, must be at most 2147483647");
  EXPECT_EQ(message("max_pool", {0, 1, 1, 4, 2, 1, 0, 0, 1, 1}), "kernel 'max_pool': takes 9 integers, got 10");
}

} // namespace
