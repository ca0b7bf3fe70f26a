//===- ScatterAdd.cpp - out[o, indices[c], i] += updates[o, c, i] ---------===//
//
// Additions into one element happen in the order of the indices. Threads split columns (o, i), which are
// independent.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Indices.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <algorithm>
#include <cstring>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Columns of one item: a cache line of float32, so that two threads never write the same line of aligned
/// rows.
constexpr int64_t kColumns = 16;

template <typename T> class ScatterAdd : public Kernel {
public:
  ScatterAdd(IndexReader indices, int64_t outer, int64_t inner)
      : indices(indices), outer(outer), inner(inner) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    ZERO_RETURN_IF_ERROR(indices.check("scatter_add", pointers[1]));
    auto *updates = static_cast<const T *>(pointers[0]);
    auto *out = static_cast<T *>(pointers[2]);
    int64_t chunks = (inner + kColumns - 1) / kColumns;
    parallelFor(parallel, outer * chunks, [&](int64_t begin, int64_t end) {
      while (begin < end) { // one outer slice at a time, with all its columns of this range
        int64_t o = begin / chunks, first = begin % chunks, last = std::min(first + end - begin, chunks);
        addColumns(updates + o * indices.count * inner, pointers[1], out + o * indices.axisSize * inner,
                   first * kColumns, std::min(inner, last * kColumns));
        begin += last - first;
      }
    });
    return {};
  }

private:
  void addColumns(const T *updates, const void *positions, T *out, int64_t from, int64_t to) const {
    if (from == 0 && to == inner)
      std::memset(out, 0, indices.axisSize * inner * sizeof(T));
    else
      for (int64_t row = 0; row < indices.axisSize; ++row)
        std::memset(out + row * inner + from, 0, (to - from) * sizeof(T));
    for (int64_t c = 0; c < indices.count; ++c) {
      T *target = out + indices.at(positions, c) * inner;
      const T *source = updates + c * inner;
      for (int64_t i = from; i < to; ++i)
        target[i] += source[i];
    }
  }

  IndexReader indices;
  int64_t outer, inner;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeScatterAdd(std::span<const int64_t> integers,
                                                          std::span<const double>, const KernelOptions &) {
  Parameters parameters("scatter_add", integers);
  int64_t element = parameters.next();
  int64_t indexElement = parameters.next();
  int64_t outer = parameters.size("outer");
  int64_t axisSize = parameters.size("axis_size");
  int64_t inner = parameters.size("inner");
  int64_t count = parameters.size("count");
  IndexReader indices = IndexReader::make(parameters, indexElement, axisSize, count);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  switch (static_cast<Element>(element)) {
  case Element::F32:
    return std::unique_ptr<Kernel>(std::make_unique<ScatterAdd<float>>(indices, outer, inner));
  case Element::F64:
    return std::unique_ptr<Kernel>(std::make_unique<ScatterAdd<double>>(indices, outer, inner));
  case Element::I64:
    return std::unique_ptr<Kernel>(std::make_unique<ScatterAdd<int64_t>>(indices, outer, inner));
  case Element::I32:
    return std::unique_ptr<Kernel>(std::make_unique<ScatterAdd<int32_t>>(indices, outer, inner));
  default:
    return Status::badInput("kernel 'scatter_add': element type " + std::string(elementName(element)) +
                            " is not supported, must be f32, f64, i64 or i32");
  }
}
