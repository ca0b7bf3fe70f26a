//===- TopK.cpp - The indices of the k best elements of each line ---------===//
//
// The order (value, then lower index) is total, so any algorithm gives the same indices: a heap of the k best
// so far, the worst on top, kept in the result itself. A line is (o, :, i) of outer x axis_size x inner.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/ElementKernels.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <type_traits>
#include <utility>

using namespace zero;
using namespace zero::kernels;

namespace {

template <typename T> class TopK : public Kernel {
public:
  TopK(int64_t outer, int64_t axisSize, int64_t inner, int64_t k, bool smallest)
      : outer(outer), axisSize(axisSize), inner(inner), k(k), smallest(smallest) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *in = static_cast<const T *>(pointers[0]);
    auto *out = static_cast<int64_t *>(pointers[1]);
    if (k == 0)
      return {};
    parallelFor(parallel, outer * inner, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t o = line / inner, i = line % inner;
        select(in + o * axisSize * inner + i, out + o * k * inner + i);
      }
    });
    return {};
  }

private:
  /// NaN counts as largest.
  static bool isLarger(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return a > b;
    } else {
      using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
      Number x = a, y = b;
      return x != x ? y == y : x > y;
    }
  }

  /// Whether element a of the line comes before element b in the result.
  bool isBefore(const T *in, int64_t a, int64_t b) const {
    T x = in[a * inner], y = in[b * inner];
    if (smallest ? isLarger(y, x) : isLarger(x, y))
      return true;
    if (smallest ? isLarger(x, y) : isLarger(y, x))
      return false;
    return a < b;
  }

  /// Moves the entry at `at` down until nothing below it comes after it.
  void sink(const T *in, int64_t *heap, int64_t at, int64_t size) const {
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
      if (child + 1 < size && isBefore(in, heap[child * inner], heap[(child + 1) * inner]))
        ++child;
      if (!isBefore(in, heap[at * inner], heap[child * inner]))
        return;
      std::swap(heap[at * inner], heap[child * inner]);
    }
  }

  void select(const T *in, int64_t *heap) const {
    for (int64_t i = 0; i < k; ++i)
      heap[i * inner] = i;
    for (int64_t i = k / 2; i-- > 0;)
      sink(in, heap, i, k);
    for (int64_t i = k; i < axisSize; ++i)
      if (isBefore(in, i, heap[0])) {
        heap[0] = i;
        sink(in, heap, 0, k);
      }
    // The worst goes to the end, and so on.
    for (int64_t size = k; size-- > 1;) {
      std::swap(heap[0], heap[size * inner]);
      sink(in, heap, 0, size);
    }
  }

  int64_t outer, axisSize, inner, k;
  bool smallest;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeTopK(std::span<const int64_t> integers,
                                                    std::span<const double>, const KernelOptions &) {
  Parameters parameters("top_k", integers);
  int64_t element = parameters.next();
  int64_t outer = parameters.size("outer");
  int64_t axisSize = parameters.size("axis_size");
  int64_t inner = parameters.size("inner");
  int64_t k = parameters.size("k");
  bool smallest = parameters.next() != 0;
  if (k > axisSize)
    parameters.fail("k is " + std::to_string(k) + " and axis_size only " + std::to_string(axisSize));
  ZERO_RETURN_IF_ERROR(parameters.finish());
  return withElementType("top_k", element, [&]<typename T>(T) -> std::unique_ptr<Kernel> {
    return std::make_unique<TopK<T>>(outer, axisSize, inner, k, smallest);
  });
}
