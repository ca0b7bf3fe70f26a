//===- CumSum.cpp - Running sums along an axis ----------------------------===//
//
// Floats are added in double and each sum is rounded once; integers wrap around. Threads split columns
// (o, i), which are independent.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/ElementKernels.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <algorithm>
#include <cmath>
#include <type_traits>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Columns of one item, whose sums are kept on the stack.
constexpr int64_t kColumns = 16;

template <typename T> class CumSum : public Kernel {
public:
  CumSum(int64_t outer, int64_t axisSize, int64_t inner, bool exclusive, bool reverse)
      : outer(outer), axisSize(axisSize), inner(inner), exclusive(exclusive), reverse(reverse) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *in = static_cast<const T *>(pointers[0]);
    auto *out = static_cast<T *>(pointers[1]);
    int64_t chunks = (inner + kColumns - 1) / kColumns;
    parallelFor(parallel, outer * chunks, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        int64_t first = item % chunks * kColumns, slice = item / chunks * axisSize * inner + first;
        addColumns(in + slice, out + slice, std::min(inner - first, kColumns));
      }
    });
    return {};
  }

private:
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

  static T rounded(Sum sum) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, double> || std::is_same_v<T, float>)
      return static_cast<T>(sum);
    else
      return T(oddFloat(sum));
  }

  /// A float from which rounding to 16 bits gives what rounding the double once would: inexact ones get an
  /// odd last bit.
  static float oddFloat(double value) {
    auto nearest = static_cast<float>(value);
    if (static_cast<double>(nearest) == value || nearest != nearest || std::isinf(nearest))
      return nearest;
    uint32_t bits = std::bit_cast<uint32_t>(nearest);
    if (std::abs(static_cast<double>(nearest)) > std::abs(value))
      --bits; // towards zero
    return std::bit_cast<float>(bits | 1);
  }

  void addColumns(const T *in, T *out, int64_t columns) const {
    Sum sums[kColumns] = {};
    for (int64_t step = 0; step < axisSize; ++step) {
      int64_t row = (reverse ? axisSize - 1 - step : step) * inner;
      for (int64_t i = 0; i < columns; ++i) {
        Sum before = sums[i];
        sums[i] += static_cast<Sum>(in[row + i]);
        out[row + i] = rounded(exclusive ? before : sums[i]);
      }
    }
  }

  int64_t outer, axisSize, inner;
  bool exclusive, reverse;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeCumSum(std::span<const int64_t> integers,
                                                      std::span<const double>, const KernelOptions &) {
  Parameters parameters("cumsum", integers);
  int64_t element = parameters.next();
  int64_t outer = parameters.size("outer");
  int64_t axisSize = parameters.size("axis_size");
  int64_t inner = parameters.size("inner");
  bool exclusive = parameters.next() != 0, reverse = parameters.next() != 0;
  ZERO_RETURN_IF_ERROR(parameters.finish());
  auto make = [&]<typename T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool>)
      return nullptr;
    else
      return std::make_unique<CumSum<T>>(outer, axisSize, inner, exclusive, reverse);
  };
  return withElementType("cumsum", element, make);
}
