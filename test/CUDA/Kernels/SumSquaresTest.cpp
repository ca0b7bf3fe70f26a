//===- SumSquaresTest.cpp - Exact sums have the CPU's bits ----------------===//
#include "test/CUDA/Kernels/KernelCases.h"
#include "zero/Runtime/Kernels/ExactSum.h"
#include <cmath>

using namespace zero;
using namespace zero::test;

namespace {

template <typename T> Bytes toBytes(const std::vector<T> &values) {
  auto *begin = reinterpret_cast<const std::byte *>(values.data());
  return Bytes(begin, begin + values.size() * sizeof(T));
}

Case sumOf(int64_t element, const std::vector<Bytes> &operands) {
  std::vector<int64_t> integers = {element};
  for (const Bytes &operand : operands)
    integers.push_back(static_cast<int64_t>(operand.size() / bytesOf(element)));
  return {"sum_squares", integers, {}, operands, {{I64, kExactSumLimbs}}};
}

TEST(CudaSumSquares, AnyOperands) {
  Numbers numbers(1);
  std::vector<Case> cases = {sumOf(F32, {}), sumOf(F32, {Bytes()})};
  for (int64_t element : {F32, F64, F16, BF16})
    for (int64_t count : {1, 2, 40}) { // more than one launch takes
      std::vector<Bytes> operands;
      for (int64_t i = 0; i < count; ++i)
        operands.push_back(numbers.elements(element, static_cast<uint64_t>(numbers.between(0, count == 1 ? 70000 : 3000))));
      cases.push_back(sumOf(element, operands));
    }
  expectSameOnDevice(cases);
}

TEST(CudaSumSquares, AllMagnitudes) {
  std::mt19937 generator(2);
  std::vector<float> values(20000);
  for (float &value : values)
    value = std::bit_cast<float>(static_cast<uint32_t>(generator()) & 0xbfffffff); // no NaN and nothing infinite
  std::vector<float> infinite(100, 1.0f), nan(200, 2.0f), largest(64 * 300, 3.4e38f), least(500, 1e-45f);
  infinite[70] = -INFINITY;
  nan[3] = NAN;
  nan[100] = INFINITY;
  std::vector<Case> cases;
  for (const std::vector<float> &operand : {values, infinite, nan, largest, least})
    cases.push_back(sumOf(F32, {toBytes(operand)}));
  expectSameOnDevice(cases);
}

TEST(CudaSumSquares, Norm) {
  std::mt19937 generator(3);
  std::vector<Case> cases;
  auto add = [&](const std::vector<float> &values, int64_t nan = 0, int64_t infinite = 0, bool carried = true) {
    std::vector<int64_t> limbs(kExactSumLimbs);
    for (float value : values)
      exactSumAdd(limbs.data(), static_cast<double>(value) * value);
    limbs[20] = infinite;
    limbs[21] = nan;
    if (carried)
      exactSumCarry(limbs.data());
    cases.push_back({"norm", {}, {}, {toBytes(limbs)}, {{F32, 1}}});
  };
  add({});
  add({1}, 1);
  add({1}, 0, 2);
  add({3, 4});
  add(std::vector<float>(100, 3.4e38f), 0, 0, false);
  for (int exponent = -149; exponent < 128; ++exponent)
    add({std::ldexp(1.0f + static_cast<float>(generator() % 1000) / 1000, exponent), std::ldexp(0.75f, exponent - static_cast<int>(generator() % 40))});
  expectSameOnDevice(cases);
}

} // namespace
