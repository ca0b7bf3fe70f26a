//===- Scatter.cpp - out = data, then out[o, indices[c], i] combined with updates[o, c, i] ---===//
//
// What falls on one element is combined in the order of the indices, rounded to the element type each time (scatter_add of
// 16-bit floats: once, from a sum in f32). Threads split what is independent: columns (o, i), of scatter_add rows of the result.
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

template <typename T, typename Combine> class Scatter : public Kernel {
public:
  Scatter(IndexReader indices, int64_t outer, int64_t inner) : indices(indices), outer(outer), inner(inner) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    ZERO_RETURN_IF_ERROR(indices.check("scatter", pointers[2]));
    auto *data = static_cast<const T *>(pointers[0]), *updates = static_cast<const T *>(pointers[1]);
    auto *out = static_cast<T *>(pointers[3]);
    int64_t chunks = (inner + kColumns - 1) / kColumns;
    parallelFor(parallel, outer * chunks, [&](int64_t begin, int64_t end) {
      while (begin < end) { // one outer slice at a time, with all its columns of this range
        int64_t o = begin / chunks, first = begin % chunks, last = std::min(first + end - begin, chunks);
        int64_t slice = o * indices.axisSize * inner;
        combineColumns(data + slice, updates + o * indices.count * inner, pointers[2], out + slice, first * kColumns,
                       std::min(inner, last * kColumns));
        begin += last - first;
      }
    });
    return {};
  }

private:
  void combineColumns(const T *data, const T *updates, const void *positions, T *out, int64_t from,
                      int64_t to) const {
    if (from == 0 && to == inner)
      std::memcpy(static_cast<void *>(out), data, indices.axisSize * inner * sizeof(T));
    else
      for (int64_t row = 0; row < indices.axisSize; ++row)
        std::memcpy(static_cast<void *>(out + row * inner + from), data + row * inner + from, (to - from) * sizeof(T));
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

/// The updates that fall on each row, in their order.
class RowChains {
public:
  RowChains(int64_t rows, int64_t updates) : first(rows), next(updates) {}

  void build(const IndexReader &indices, const void *positions) {
    std::fill(first.begin(), first.end(), -1);
    for (int64_t c = indices.count; c-- > 0;) { // so chains begin with the first update
      int64_t row = indices.at(positions, c);
      next[c] = first[row];
      first[row] = c;
    }
  }
  template <typename Visit> void forEachUpdate(int64_t row, Visit visit) const {
    for (int64_t c = first[row]; c >= 0; c = next[c])
      visit(c);
  }
  bool isEmpty(int64_t row) const { return first[row] < 0; }

private:
  std::vector<int64_t> first, next; ///< -1 where there is none
};

/// A row of the result, which starts as 0, in its own type.
template <typename T> struct SumInPlace {
  using Value = T;
  void operator()(const T *updates, const RowChains &chains, int64_t row, int64_t inner, T *out) const {
    Add add;
    chains.forEachUpdate(row, [&](int64_t c) {
      for (int64_t i = 0; i < inner; ++i)
        out[i] = add(out[i], updates[c * inner + i]);
    });
  }
};

/// A row of 16-bit floats, summed in f32 and rounded once.
struct SumWidened {
  using Value = uint16_t;
  void (*widen)(const uint16_t *, int64_t, float *);
  void (*round)(const float *, int64_t, uint16_t *);

  void operator()(const uint16_t *updates, const RowChains &chains, int64_t row, int64_t inner, uint16_t *out) const {
    constexpr int64_t kBlock = 256;
    for (int64_t from = 0; from < inner; from += kBlock) {
      float sums[kBlock] = {}, update[kBlock];
      int64_t count = std::min(kBlock, inner - from);
      chains.forEachUpdate(row, [&](int64_t c) {
        widen(updates + c * inner + from, count, update);
        for (int64_t i = 0; i < count; ++i)
          sums[i] += update[i];
      });
      round(sums, count, out + from);
    }
  }
};

/// scatter_add: each row of the result is summed by itself, over the updates that fall on it.
template <typename SumRow> class ScatterAdd : public Kernel {
public:
  ScatterAdd(IndexReader indices, int64_t outer, int64_t inner, SumRow sumRow)
      : indices(indices), outer(outer), inner(inner), sumRow(sumRow),
        chains(inner ? indices.axisSize : 0, inner ? indices.count : 0) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    ZERO_RETURN_IF_ERROR(indices.check("scatter_add", pointers[1]));
    if (inner == 0)
      return {};
    chains.build(indices, pointers[1]);
    auto *updates = static_cast<const typename SumRow::Value *>(pointers[0]);
    auto *out = static_cast<typename SumRow::Value *>(pointers[2]);
    parallelFor(parallel, outer * indices.axisSize, [&](int64_t begin, int64_t end) {
      std::memset(static_cast<void *>(out + begin * inner), 0, (end - begin) * inner * sizeof *out);
      while (begin < end) { // the rows of one outer slice
        int64_t o = begin / indices.axisSize, row = begin % indices.axisSize, last = std::min(indices.axisSize, row + end - begin);
        for (; row < last; ++row, ++begin)
          if (!chains.isEmpty(row))
            sumRow(updates + o * indices.count * inner, chains, row, inner, out + begin * inner);
      }
    });
    return {};
  }

private:
  IndexReader indices;
  int64_t outer, inner;
  SumRow sumRow;
  RowChains chains;
};

using Result = Expected<std::unique_ptr<Kernel>>;

template <typename Combine, typename... Arguments> Result makeOf(int64_t element, Arguments... arguments) {
  return withElementType("scatter", element, [&]<typename T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool> && !std::is_same_v<Combine, Assign>)
      return nullptr;
    else
      return std::make_unique<Scatter<T, Combine>>(arguments...);
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
    return makeOf<Assign>(element, indices, outer, inner);
  case 1:
    return makeOf<Add>(element, indices, outer, inner);
  case 2:
    return makeOf<Multiply>(element, indices, outer, inner);
  case 3:
    return makeOf<Maximum>(element, indices, outer, inner);
  default:
    return makeOf<Minimum>(element, indices, outer, inner);
  }
}

Expected<std::unique_ptr<Kernel>> kernels::makeScatterAdd(std::span<const int64_t> integers,
                                                          std::span<const double>, const KernelOptions &) {
  Parameters parameters("scatter_add", integers);
  int64_t element = parameters.next();
  auto [indices, outer, inner] = IndexedAxis::read(parameters);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  auto sumWidened = [&](auto widen, auto round) {
    return std::unique_ptr<Kernel>(std::make_unique<ScatterAdd<SumWidened>>(indices, outer, inner, SumWidened{widen, round}));
  };
  if (element == static_cast<int64_t>(Element::F16))
    return sumWidened(widenFloat16s, roundToFloat16s);
  if (element == static_cast<int64_t>(Element::BF16))
    return sumWidened(widenBFloat16s, roundToBFloat16s);
  return withElementType("scatter_add", element, [&]<typename T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool>)
      return nullptr;
    else
      return std::make_unique<ScatterAdd<SumInPlace<T>>>(indices, outer, inner, SumInPlace<T>());
  });
}
