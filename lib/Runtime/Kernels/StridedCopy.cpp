//===- StridedCopy.cpp - Copies between any two strided layouts -----------===//
//
// Dimensions are sorted by target stride and merged where both sides run on. What is left is one of three
// inner loops: runs that are contiguous on both sides (memcpy), a two-dimensional transpose in tiles (the
// target runs along one dimension, the source along another), or single elements.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/StridedCopyShape.h"
#include <cstring>
#include <xmmintrin.h>

using namespace zero;
using namespace zero::kernels;

namespace {

using Dimension = StridedCopyShape::Dimension;

/// Elements of one side of a tile.
constexpr int64_t kTile = 32;
/// Most elements of one run of an item.
constexpr int64_t kRun = 16384;

/// The inner loops for elements of type T (an unsigned integer of their size).
template <typename T> struct Loops {
  static void run(const T *source, T *target, int64_t count) {
    std::memcpy(target, source, count * sizeof(T));
  }

  static void strided(const T *source, int64_t sourceStride, T *target, int64_t targetStride, int64_t count) {
    if (targetStride == 1 && sourceStride == 0)
      std::fill(target, target + count, *source);
    else
      for (int64_t i = 0; i < count; ++i)
        target[i * targetStride] = source[i * sourceStride];
  }

  /// target[row * targetStride + column] = source[column * sourceStride + row].
  static void transpose(const T *source, int64_t sourceStride, T *target, int64_t targetStride, int64_t rows,
                        int64_t columns) {
    int64_t row = 0;
    if constexpr (sizeof(T) == 4)
      for (; row + 4 <= rows; row += 4) {
        int64_t column = 0;
        for (; column + 4 <= columns; column += 4)
          transpose4x4(source + column * sourceStride + row, sourceStride,
                       target + row * targetStride + column, targetStride);
        for (; column < columns; ++column)
          for (int64_t r = row; r < row + 4; ++r)
            target[r * targetStride + column] = source[column * sourceStride + r];
      }
    for (; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        target[row * targetStride + column] = source[column * sourceStride + row];
  }

  static void transpose4x4(const T *source, int64_t sourceStride, T *target, int64_t targetStride) {
    auto load = [&](int64_t i) {
      return _mm_loadu_ps(reinterpret_cast<const float *>(source + i * sourceStride));
    };
    __m128 a = load(0), b = load(1), c = load(2), d = load(3);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    auto store = [&](int64_t i, __m128 v) {
      _mm_storeu_ps(reinterpret_cast<float *>(target + i * targetStride), v);
    };
    store(0, a), store(1, b), store(2, c), store(3, d);
  }
};

template <typename T> class StridedCopy : public Kernel {
public:
  explicit StridedCopy(const StridedCopyShape &shape)
      : outer(StridedCopyShape::merge(shape.dimensions)), empty(shape.empty()), sourceOffset(shape.sourceOffset),
        targetOffset(shape.targetOffset) {
    chooseInner();
    for (const Dimension &d : outer)
      items *= d.size;
  }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    if (empty)
      return {};
    auto *source = static_cast<const T *>(pointers[0]) + sourceOffset;
    auto *target = static_cast<T *>(pointers[1]) + targetOffset;
    parallelFor(parallel, items * inner, [&](int64_t begin, int64_t end) {
      int64_t index[StridedCopyShape::kMaxRank], rest = begin / inner, from = 0, to = 0;
      for (size_t i = outer.size(); i-- > 0; rest /= outer[i].size) {
        index[i] = rest % outer[i].size;
        from += index[i] * outer[i].source;
        to += index[i] * outer[i].target;
      }
      int64_t part = begin % inner;
      for (int64_t item = begin; item < end; ++item) {
        copyItem(source + from, target + to, part);
        if (++part < inner)
          continue;
        part = 0;
        for (size_t i = outer.size(); i-- > 0;) { // the next index, last dimension first
          from += outer[i].source;
          to += outer[i].target;
          if (++index[i] < outer[i].size)
            break;
          index[i] = 0;
          from -= outer[i].size * outer[i].source;
          to -= outer[i].size * outer[i].target;
        }
      }
    });
    return {};
  }

private:
  /// Takes the dimensions of the inner loop out of `outer`.
  void chooseInner() {
    if (outer.empty())
      return;
    columns = outer.back();
    outer.pop_back();
    if (columns.target == 1 && columns.source != 1)
      for (size_t i = 0; i < outer.size(); ++i)
        if (outer[i].source == 1) {
          rows = outer[i];
          outer.erase(outer.begin() + i);
          tiles = true;
          inner = (rows.size + kTile - 1) / kTile;
          return;
        }
    inner = (columns.size + kRun - 1) / kRun;
  }

  void copyItem(const T *source, T *target, int64_t part) const {
    if (tiles) {
      int64_t row = part * kTile, count = std::min(kTile, rows.size - row);
      for (int64_t column = 0; column < columns.size; column += kTile)
        Loops<T>::transpose(source + row + column * columns.source, columns.source,
                            target + row * rows.target + column, rows.target, count,
                            std::min(kTile, columns.size - column));
      return;
    }
    int64_t at = part * kRun, count = std::min(kRun, columns.size - at);
    source += at * columns.source;
    target += at * columns.target;
    if (columns.source == 1 && columns.target == 1)
      Loops<T>::run(source, target, count);
    else
      Loops<T>::strided(source, columns.source, target, columns.target, count);
  }

  std::vector<Dimension> outer;
  Dimension columns{1, 1, 1}, rows{1, 1, 1}; // of the inner loop; `rows` where it is a transpose
  bool tiles = false, empty;
  int64_t items = 1, inner = 1; // outer indices, and parts of the inner loop
  int64_t sourceOffset, targetOffset;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeStridedCopy(std::span<const int64_t> integers,
                                                           std::span<const double>, const KernelOptions &) {
  Parameters parameters("strided_copy", integers);
  Expected<StridedCopyShape> shape = StridedCopyShape::read(parameters);
  ZERO_RETURN_IF_ERROR(shape.status());
  switch (shape->bytes) {
  case 1:
    return std::unique_ptr<Kernel>(std::make_unique<StridedCopy<uint8_t>>(*shape));
  case 2:
    return std::unique_ptr<Kernel>(std::make_unique<StridedCopy<uint16_t>>(*shape));
  case 4:
    return std::unique_ptr<Kernel>(std::make_unique<StridedCopy<uint32_t>>(*shape));
  default:
    return std::unique_ptr<Kernel>(std::make_unique<StridedCopy<uint64_t>>(*shape));
  }
}
