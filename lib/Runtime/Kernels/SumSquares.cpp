//===- SumSquares.cpp - Exact sum of squares of all gradients -------------===//
//
// Elements of other types count as the f32 nearest to them, which an f16 or bf16 is.
//
// Threads split the cells; each adds into limbs of its own, which are then added: integers, so in any order.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/ElementKernels.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include "lib/Runtime/Kernels/SumCells.h"
#include "zero/Runtime/Kernels/ExactSum.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Cells of one item: 64 KiB of gradients.
constexpr int64_t kCells = 256;

/// The sum of squares of one cell, which may be the last of an operand and short.
template <typename T> double sumCell(const T *values, int64_t count) {
  float floats[kExactSumCell];
  for (int64_t i = 0; i < count; ++i)
    floats[i] = static_cast<float>(values[i]);
  return cellSumOfSquares(floats, count);
}

/// Of whole cells.
inline void sumCells(const float *values, int64_t cells, double *sums) { sumCellsOfFloats(values, cells, sums); }
inline void sumCells(const BFloat16 *values, int64_t cells, double *sums) { sumCellsOfBFloat16s(&values->bits, cells, sums); }
inline void sumCells(const Float16 *values, int64_t cells, double *sums) { sumCellsOfFloat16s(&values->bits, cells, sums); }
inline void sumCells(const double *values, int64_t cells, double *sums) {
  for (int64_t cell = 0; cell < cells; ++cell)
    sums[cell] = sumCell(values + cell * kExactSumCell, kExactSumCell);
}

template <typename T> class SumSquares : public Kernel {
public:
  explicit SumSquares(std::vector<int64_t> counts) : counts(std::move(counts)) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *sum = static_cast<int64_t *>(pointers[counts.size()]);
    std::memset(sum, 0, kExactSumLimbs * sizeof(int64_t));
    for (size_t i = 0; i < counts.size(); ++i)
      addOperand(static_cast<const T *>(pointers[i]), counts[i], sum, parallel);
    return {};
  }

private:
  static void addOperand(const T *values, int64_t count, int64_t *sum, ParallelFor &parallel) {
    constexpr int64_t step = kCells * kExactSumCell;
    parallelFor(parallel, (count + step - 1) / step, [&](int64_t begin, int64_t end) {
      int64_t limbs[kExactSumLimbs] = {};
      int64_t to = std::min(count, end * step), added = 0;
      double sums[kCells];
      for (int64_t i = begin * step; i < to; i += step) {
        int64_t whole = std::min(step, to - i) / kExactSumCell, rest = std::min(step, to - i) % kExactSumCell;
        sumCells(values + i, whole, sums);
        for (int64_t cell = 0; cell < whole; ++cell)
          exactSumAdd(limbs, sums[cell]);
        if (rest)
          exactSumAdd(limbs, sumCell(values + i + whole * kExactSumCell, rest));
        if ((added += kCells) > kExactSumAddsPerCarry - kCells) {
          exactSumCarry(limbs);
          added = 0;
        }
      }
      exactSumCarry(limbs);
      for (int64_t i = 0; i < kExactSumLimbs; ++i)
        if (limbs[i])
          std::atomic_ref<int64_t>(sum[i]).fetch_add(limbs[i], std::memory_order_relaxed);
    });
    exactSumCarry(sum);
  }

  std::vector<int64_t> counts;
};

class Norm : public Kernel {
public:
  Status run(void *const *pointers, ParallelFor &) override {
    *static_cast<float *>(pointers[1]) = exactSumSquareRoot(static_cast<const int64_t *>(pointers[0]));
    return {};
  }
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeSumSquares(std::span<const int64_t> integers,
                                                          std::span<const double>, const KernelOptions &) {
  Parameters parameters("sum_squares", integers);
  int64_t element = parameters.next();
  std::vector<int64_t> counts;
  while (parameters.remaining())
    counts.push_back(parameters.size("element count"));
  ZERO_RETURN_IF_ERROR(parameters.finish());
  auto make = [&]<typename T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_integral_v<T>)
      return nullptr;
    else
      return std::make_unique<SumSquares<T>>(std::move(counts));
  };
  return withElementType("sum_squares", element, make, ", must be a float");
}

Expected<std::unique_ptr<Kernel>> kernels::makeNorm(std::span<const int64_t> integers,
                                                    std::span<const double>, const KernelOptions &) {
  ZERO_RETURN_IF_ERROR(Parameters("norm", integers).finish());
  return std::unique_ptr<Kernel>(std::make_unique<Norm>());
}
