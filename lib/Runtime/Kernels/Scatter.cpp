//===- Scatter.cpp - out = data, then out[o, indices[c], i] combined with updates[o, c, i] ---===//
//
// What falls on one element is combined in the order of the indices, rounded to the element type each time (scatter_add of
// 16-bit floats: once, from a sum in f32). Threads split columns (o, i), which are independent.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/ElementKernels.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Indices.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include "lib/Runtime/Kernels/WideRows.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Columns of one item: a cache line of float32, so that two threads never write the same line of aligned
/// rows.
constexpr int64_t kColumns = 16;

template <typename T>
concept Integer = std::is_integral_v<T>;

struct Assign {
  template <typename T> T operator()(T, T update) const { return update; }
};
struct Add {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(a + b); }
  template <Integer T> T operator()(T a, T b) const { // wraps around
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Multiply {
  template <typename T> T operator()(T a, T b) const { return static_cast<T>(a * b); }
  template <Integer T> T operator()(T a, T b) const {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
/// The operand that comes first under Before: NaN if one is, +0 above -0.
template <typename Before> struct Extremum {
  template <typename T> T operator()(T a, T b) const {
    if constexpr (!Integer<T>) {
      std::conditional_t<std::is_same_v<T, double>, double, float> x = a, y = b;
      if (std::isnan(x) || std::isnan(y))
        return std::isnan(x) ? a : b;
      if (x == y) // zeros of two signs
        return Before()(std::signbit(y), std::signbit(x)) ? a : b;
    }
    return Before()(a, b) ? a : b;
  }
};
using Maximum = Extremum<std::greater<>>;
using Minimum = Extremum<std::less<>>;

/// With `fromZero` there is no data: the elements start as 0 (the kernel scatter_add).
template <typename T, typename Combine, bool fromZero> class Scatter : public Kernel {
public:
  Scatter(IndexReader indices, int64_t outer, int64_t inner) : indices(indices), outer(outer), inner(inner) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *data = fromZero ? nullptr : static_cast<const T *>(*pointers++);
    ZERO_RETURN_IF_ERROR(indices.check(fromZero ? "scatter_add" : "scatter", pointers[1]));
    auto *updates = static_cast<const T *>(pointers[0]);
    auto *out = static_cast<T *>(pointers[2]);
    int64_t chunks = (inner + kColumns - 1) / kColumns;
    parallelFor(parallel, outer * chunks, [&](int64_t begin, int64_t end) {
      while (begin < end) { // one outer slice at a time, with all its columns of this range
        int64_t o = begin / chunks, first = begin % chunks, last = std::min(first + end - begin, chunks);
        int64_t slice = o * indices.axisSize * inner;
        combineColumns(fromZero ? nullptr : data + slice, updates + o * indices.count * inner, pointers[1],
                       out + slice, first * kColumns, std::min(inner, last * kColumns));
        begin += last - first;
      }
    });
    return {};
  }

private:
  void start(const T *data, T *out, int64_t elements) const {
    if (fromZero)
      std::memset(static_cast<void *>(out), 0, elements * sizeof(T));
    else
      std::memcpy(static_cast<void *>(out), data, elements * sizeof(T));
  }

  void combineColumns(const T *data, const T *updates, const void *positions, T *out, int64_t from,
                      int64_t to) const {
    if (from == 0 && to == inner)
      start(data, out, indices.axisSize * inner);
    else
      for (int64_t row = 0; row < indices.axisSize; ++row)
        start(fromZero ? nullptr : data + row * inner + from, out + row * inner + from, to - from);
    Combine combine;
    for (int64_t c = 0; c < indices.count; ++c) {
      T *target = out + indices.at(positions, c) * inner;
      const T *source = updates + c * inner;
      for (int64_t i = from; i < to; ++i)
        target[i] = combine(target[i], source[i]);
    }
  }

  IndexReader indices;
  int64_t outer, inner;
};

/// scatter_add of 16-bit floats: each row of the result is summed by itself, over the updates that fall on it.
class NarrowScatterAdd : public Kernel {
public:
  NarrowScatterAdd(IndexReader indices, int64_t outer, int64_t inner, bool isHalf)
      : indices(indices), outer(outer), inner(inner), widen(isHalf ? widenFloat16s : widenBFloat16s),
        round(isHalf ? roundToFloat16s : roundToBFloat16s), first(inner ? indices.axisSize : 0),
        next(inner ? indices.count : 0) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    ZERO_RETURN_IF_ERROR(indices.check("scatter_add", pointers[1]));
    if (inner == 0)
      return {};
    std::fill(first.begin(), first.end(), -1);
    for (int64_t c = indices.count; c-- > 0;) { // so chains begin with the first update
      int64_t row = indices.at(pointers[1], c);
      next[c] = first[row];
      first[row] = c;
    }
    auto *updates = static_cast<const uint16_t *>(pointers[0]);
    auto *out = static_cast<uint16_t *>(pointers[2]);
    parallelFor(parallel, outer * indices.axisSize, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item)
        sumRow(updates + item / indices.axisSize * indices.count * inner, first[item % indices.axisSize], out + item * inner);
    });
    return {};
  }

private:
  void sumRow(const uint16_t *updates, int64_t chain, uint16_t *out) const {
    if (chain < 0)
      std::memset(out, 0, inner * sizeof(uint16_t));
    constexpr int64_t kBlock = 256;
    for (int64_t from = 0; chain >= 0 && from < inner; from += kBlock) {
      float sums[kBlock] = {}, update[kBlock];
      int64_t count = std::min(kBlock, inner - from);
      for (int64_t c = chain; c >= 0; c = next[c]) {
        widen(updates + c * inner + from, count, update);
        for (int64_t i = 0; i < count; ++i)
          sums[i] += update[i];
      }
      round(sums, count, out + from);
    }
  }

  IndexReader indices;
  int64_t outer, inner;
  void (*widen)(const uint16_t *, int64_t, float *);
  void (*round)(const float *, int64_t, uint16_t *);
  /// The first update of each row, or -1, and the next one of each update's row.
  std::vector<int64_t> first, next;
};

using Result = Expected<std::unique_ptr<Kernel>>;

template <typename Combine, bool fromZero, typename... Arguments>
Result makeOf(const char *kernel, int64_t element, Arguments... arguments) {
  return withElementType(kernel, element, [&]<typename T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool> && !std::is_same_v<Combine, Assign>)
      return nullptr;
    else
      return std::make_unique<Scatter<T, Combine, fromZero>>(arguments...);
  });
}

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeScatter(std::span<const int64_t> integers,
                                                       std::span<const double>, const KernelOptions &) {
  Parameters parameters("scatter", integers);
  int64_t kind = parameters.next();
  int64_t element = parameters.next();
  auto [indices, outer, inner] = IndexedAxis::read(parameters);
  if (kind < 0 || kind > 4)
    parameters.fail("kind is " + std::to_string(kind) + ", outside [0, 5)");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  switch (kind) {
  case 0:
    return makeOf<Assign, false>("scatter", element, indices, outer, inner);
  case 1:
    return makeOf<Add, false>("scatter", element, indices, outer, inner);
  case 2:
    return makeOf<Multiply, false>("scatter", element, indices, outer, inner);
  case 3:
    return makeOf<Maximum, false>("scatter", element, indices, outer, inner);
  default:
    return makeOf<Minimum, false>("scatter", element, indices, outer, inner);
  }
}

Expected<std::unique_ptr<Kernel>> kernels::makeScatterAdd(std::span<const int64_t> integers,
                                                          std::span<const double>, const KernelOptions &) {
  Parameters parameters("scatter_add", integers);
  int64_t element = parameters.next();
  auto [indices, outer, inner] = IndexedAxis::read(parameters);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (element == static_cast<int64_t>(Element::F16) || element == static_cast<int64_t>(Element::BF16))
    return std::unique_ptr<Kernel>(
        std::make_unique<NarrowScatterAdd>(indices, outer, inner, element == static_cast<int64_t>(Element::F16)));
  return makeOf<Add, true>("scatter_add", element, indices, outer, inner);
}
