//===- NarrowTest.cpp - 16-bit floats as numbers --------------------------===//
#include "lib/Runtime/Kernels/WideRows.h"
#include "zero/Runtime/Base/NarrowFloats.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

using namespace zero;

namespace {

template <typename To, typename From> To bitsAs(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// Every number of a type, and around it: numbers that round to it, ties that go to the even one.
void checkRounding(float (*widen)(uint16_t), uint16_t (*round)(float), uint16_t infinity) {
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    auto low = static_cast<uint16_t>(bits);
    auto high = static_cast<uint16_t>(bits + 1);
    double a = widen(low), b = bits + 1 == infinity ? 2 * a - widen(low - 1) : widen(high);
    ASSERT_LT(a, b);
    ASSERT_EQ(round(widen(low)), low);
    auto tie = static_cast<float>((a + b) / 2);
    ASSERT_EQ((a + b) / 2, tie);
    for (float sign : {1.0f, -1.0f}) {
      auto at = [&](uint16_t number) { return static_cast<uint16_t>(number | (sign < 0 ? 0x8000 : 0)); };
      ASSERT_EQ(round(sign * tie), at(low % 2 == 0 ? low : high)) << bits;
      ASSERT_EQ(round(sign * std::nextafter(tie, 0.0f)), at(low)) << bits;
      ASSERT_EQ(round(sign * std::nextafter(tie, INFINITY)), at(high)) << bits;
    }
  }
  EXPECT_EQ(round(INFINITY), infinity);
  EXPECT_EQ(round(-INFINITY), infinity | 0x8000);
  EXPECT_EQ(round(-0.0f), 0x8000);
  EXPECT_EQ(round(3.4e38f), infinity);
  EXPECT_EQ(widen(infinity), INFINITY);
  for (uint32_t nan : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff812345u}) {
    uint16_t narrow = round(bitsAs<float>(nan));
    EXPECT_TRUE(std::isnan(widen(narrow))) << nan;
    EXPECT_EQ(narrow >> 15, nan >> 31);
  }
}

TEST(NarrowFloats, BFloat16) {
  checkRounding(widenBFloat16, roundToBFloat16, 0x7f80);
  EXPECT_EQ(widenBFloat16(0x3f80), 1.0f);
  EXPECT_EQ(widenBFloat16(1), std::ldexp(1.0f, -133)); // subnormal
}

TEST(NarrowFloats, Float16) {
  checkRounding(widenFloat16, roundToFloat16, 0x7c00);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto narrow = static_cast<uint16_t>(bits);
    auto expected = static_cast<float>(bitsAs<_Float16>(narrow));
    EXPECT_EQ(bitsAs<uint32_t>(widenFloat16(narrow)), bitsAs<uint32_t>(expected)) << bits;
  }
  for (uint64_t bits = 0; bits < 0x100000000; bits += 4093) {
    auto wide = bitsAs<float>(static_cast<uint32_t>(bits));
    EXPECT_EQ(roundToFloat16(wide), bitsAs<uint16_t>(static_cast<_Float16>(wide))) << bits;
  }
}

/// Rows have the bits of their numbers, whatever their length, and nothing is written behind them.
void checkRows(float (*widen)(uint16_t), uint16_t (*round)(float), void (*widenRow)(const uint16_t *, int64_t, float *),
               void (*roundRow)(const float *, int64_t, uint16_t *)) {
  std::vector<uint16_t> narrow(0x10000), rounded(0x10001, 7);
  std::vector<float> wide(0x10001, 7), between(0x10000);
  for (uint32_t i = 0; i < 0x10000; ++i) {
    narrow[i] = static_cast<uint16_t>(i);
    between[i] = bitsAs<float>(static_cast<uint32_t>(i * 0x9e3779b9u));
  }
  for (int64_t count : {0x10000, 65535, 31, 8, 7, 1, 0}) {
    wide[count] = 7, rounded[count] = 7;
    widenRow(narrow.data(), count, wide.data());
    roundRow(between.data(), count, rounded.data());
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(bitsAs<uint32_t>(wide[i]), bitsAs<uint32_t>(widen(narrow[i]))) << i;
      ASSERT_EQ(rounded[i], round(between[i])) << bitsAs<uint32_t>(between[i]);
    }
    EXPECT_EQ(wide[count], 7.0f);
    EXPECT_EQ(rounded[count], 7);
  }
}

TEST(NarrowFloats, Rows) {
  checkRows(widenBFloat16, roundToBFloat16, kernels::widenBFloat16s, kernels::roundToBFloat16s);
  checkRows(widenFloat16, roundToFloat16, kernels::widenFloat16s, kernels::roundToFloat16s);
}

} // namespace
