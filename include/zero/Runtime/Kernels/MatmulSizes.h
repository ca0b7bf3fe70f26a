//===- MatmulSizes.h - Blocks and workspace of matrix products ------------===//
//
// Standard library only: the compiler includes this to plan what the runtime then uses.
//
// A product is cut into blocks, which are functions of the shape alone: no bit of a result depends on the number of
// threads. A block's workspace holds copies of what oneDNN does not take as it lies, then the scratch of oneDNN itself;
// as many threads may run blocks at once as there are parts of the workspace.
//
// What oneDNN 2.6 takes for a product by blocks (AVX-512): a block of the right side of at most 64 columns and 512 sums, 1024 where
// sums are long; where it copies the left side (transposed, or rows of 16 bits at a large power of two) at most 256 rows of that;
// of 16 bits and longer sums also those of a block in float32, of 16 blocks where it copies the left side. Its product for any
// strides (what that one does not do) takes none of us. Kernels check the bound when they are prepared.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_MATMULSIZES_H
#define ZERO_RUNTIME_KERNELS_MATMULSIZES_H

#include "zero/Runtime/Kernels/MatmulShape.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace zero {

/// The integers of KernelTable.inc behind the element; sizes are not checked. No value where their number does not fit.
inline std::optional<MatmulShape> matmulShapeFromIntegers(std::span<const int64_t> integers) {
  if (integers.size() != 13)
    return std::nullopt;
  const int64_t *x = integers.data() + 1;
  return MatmulShape{x[0], x[1], x[2], x[3], x[4] != 0, x[5] != 0, x[6], x[7], x[8], x[9], x[10], x[11]};
}

/// How a product is computed. The order of its sums depends on it.
enum class MatmulMethod {
  Packed,  ///< f32 with AVX2, both sides copied together block by block (MatmulPackedV3.cpp)
  Strided, ///< by oneDNN, matrices as they lie: gradients of weights (f32) with AVX-512, which are sums over the batch
  Dense,   ///< by oneDNN, matrices without gaps, what has some is copied: f32 and bf16 with AVX-512
  Widened, ///< 16 bits as f32, block by block (MatmulWidened.cpp)
  Loops,   ///< f64, without workspace (MatmulDoubleLoops.inc)
};

/// One matrix of a block as it lies in memory: `batches` of them (one where they are the same), row by row.
struct MatmulOperand {
  int64_t batches, rows, columns, batchStride, ld;

  int64_t elements() const { return batches * rows * columns; }
  bool hasGaps() const { return (rows > 1 && ld != columns) || (batches > 1 && batchStride != rows * columns); }
  MatmulOperand withoutGaps() const { return {batches, rows, columns, rows * columns, columns}; }
};

/// How a product is cut, and what its blocks take of the workspace.
class MatmulPlan {
public:
  static constexpr int64_t kParts = 8; ///< most threads that work on one product at once
  enum class Axis { Batch, M, N };

  MatmulPlan(const MatmulShape &shape, MatmulMethod method, int64_t elementBytes) : shape(shape), method(method), elementBytes(elementBytes) {
    if (shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0)
      return;
    switch (method) {
    case MatmulMethod::Loops:
      return;
    case MatmulMethod::Widened:
      blocks = shape.batch * count(shape.m, kWideRows) * count(shape.n, kWideColumns);
      partBytes = widenedBytes();
      break;
    case MatmulMethod::Packed:
      chooseBlocks();
      blocks = shape.batch * blocksDown() * blocksAcross();
      partBytes = packedBytes(blockRows, blockColumns, shape.k);
      break;
    case MatmulMethod::Strided:
    case MatmulMethod::Dense:
      chooseCut();
      size = std::min(size, extent());
      partBytes = copyBytes(size) + scratchBytes(at(Axis::M, size), at(Axis::N, size), shape.k, shape.transposeLhs, elementBytes);
      blocks = count(extent(), size);
      break;
    }
    // Few large parts serve fewer threads: for threads that there may not be a product must not take more than its matrices do.
    int64_t matrices = elementBytes * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
    parts = std::clamp<int64_t>(std::min(kWorkspaceBytes, matrices) / std::max<int64_t>(partBytes, 1), 2, kParts);
    parts = std::min(parts, blocks);
  }

  int64_t workspaceBytes() const { return parts * partBytes; }
  int64_t extent() const { return axis == Axis::Batch ? shape.batch : axis == Axis::M ? shape.m : shape.n; }

  /// The matrices of a block of `size` along the axis.
  MatmulOperand lhs(int64_t size) const { return operand(size, at(Axis::M, size), shape.k, shape.transposeLhs, shape.lhsBatchStride, shape.lhsLd); }
  MatmulOperand rhs(int64_t size) const { return operand(size, shape.k, at(Axis::N, size), shape.transposeRhs, shape.rhsBatchStride, shape.rhsLd); }
  MatmulOperand out(int64_t size) const { return operand(size, at(Axis::M, size), at(Axis::N, size), false, shape.outBatchStride, shape.outLd); }
  /// Where a matrix with gaps is copied to; 0 for one that is used as it lies.
  int64_t copyBytes(const MatmulOperand &operand) const {
    return method == MatmulMethod::Dense && operand.hasGaps() ? roundUp(operand.elements() * elementBytes) : 0;
  }
  int64_t copyBytes(int64_t size) const { return copyBytes(lhs(size)) + copyBytes(rhs(size)) + copyBytes(out(size)); }

  /// Of packed products: blocks of a matrix, below each other and side by side.
  int64_t blocksDown() const { return count(shape.m, blockRows); }
  int64_t blocksAcross() const { return count(shape.n, blockColumns); }
  /// What stays in registers; terms of a sum, rows of the left side (second cache) and columns of the right side that are packed at once.
  static constexpr int64_t kTileRows = 6, kTileColumns = 16, kPackedTerms = 256, kPackedRows = 96, kPackedColumns = 512;

  // Of products of 16 bits that are widened: most rows and columns of a block, and numbers that one of its products sums.
  static constexpr int64_t kWideRows = 256, kWideColumns = 256, kWideSum = 2048;

  MatmulShape shape;
  MatmulMethod method;
  int64_t elementBytes;
  Axis axis = Axis::M;
  int64_t size = 0;      ///< of a block along the axis; the last may be smaller
  int64_t blockRows = 1, blockColumns = 1; ///< of packed products; the last may be smaller
  int64_t blocks = 0;
  int64_t parts = 0;     ///< of the workspace
  int64_t partBytes = 0; ///< of a block's copies and oneDNN's scratch

private:
  /// Work of one block: about a millisecond of one core, so that threads find blocks and one thread does not
  /// notice them.
  static constexpr int64_t kBlockFlops = int64_t{1} << 27;
  static constexpr int64_t kMaxBlocks = 32;
  /// Rows and columns of blocks are multiples of this (but the last).
  static constexpr int64_t kGrain = 64;
  /// Most floats of one block's copies, so that they stay near the cache and the workspace small.
  static constexpr int64_t kCopyFloats = int64_t{1} << 20;
  /// Least rows or columns of a block where blocks with gaps are copied.
  static constexpr int64_t kBlockRows = 256;
  /// Most bytes of a workspace of more than two parts.
  static constexpr int64_t kWorkspaceBytes = int64_t{12} << 20;

  static int64_t count(int64_t extent, int64_t size) { return (extent + size - 1) / size; }
  static int64_t roundUp(int64_t bytes, int64_t grain = 64) { return (bytes + grain - 1) / grain * grain; }

  int64_t at(Axis which, int64_t size) const { return axis == which ? size : which == Axis::M ? shape.m : shape.n; }
  MatmulOperand operand(int64_t size, int64_t rows, int64_t columns, bool transposed, int64_t batchStride, int64_t ld) const {
    int64_t batch = axis == Axis::Batch ? size : shape.batch;
    return {batchStride == 0 ? 1 : batch, transposed ? columns : rows, transposed ? rows : columns, batchStride, ld};
  }

  /// A power of two, from half a block's work on at least two: three blocks would leave the second thread idle for a third of the time.
  int64_t mostBlocks(double blockFlops) const {
    double wanted = 2.0 * shape.batch * shape.m * shape.n * shape.k / blockFlops;
    return wanted < 0.5 ? 1 : std::clamp<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::ceil(std::min<double>(wanted, kMaxBlocks)))), 2, kMaxBlocks);
  }

  /// Both sides of a block are packed for it alone, so blocks are large and as square as may be.
  void chooseBlocks() {
    int64_t down = 1, across = 1;
    auto rows = [&] { return roundUp(count(shape.m, down), kTileRows); };
    auto columns = [&] { return roundUp(count(shape.n, across), kTileColumns); };
    for (int64_t most = mostBlocks(2 * kBlockFlops), blocks = shape.batch; blocks < most && (blocks == 1 || std::max(rows(), columns()) >= 2 * kBlockRows); blocks *= 2)
      (rows() > columns() ? down : across) *= 2;
    blockRows = rows(), blockColumns = columns();
  }

  /// What is packed of a block at once.
  static int64_t packedBytes(int64_t rows, int64_t columns, int64_t terms) {
    constexpr int64_t kSpilled = kTileColumns; // floats behind the last column that is transposed
    return roundUp(4 * (std::min(terms, kPackedTerms) * (roundUp(std::min(rows, kPackedRows), kTileRows) + roundUp(std::min(columns, kPackedColumns), kTileColumns)) + kSpilled));
  }

  void chooseCut() {
    const MatmulShape &s = shape;
    int64_t most = mostBlocks(elementBytes == 2 ? 2 * kBlockFlops : kBlockFlops); // products of 16 bits run at twice the speed
    auto sizeOf = [&](int64_t extent, int64_t grain) { return std::max<int64_t>(roundUp(count(extent, most), grain), 1); };
    auto cut = [&](Axis along, int64_t each) {
      axis = along;
      size = std::max<int64_t>(each, 1);
    };
    if (s.batch > 1)
      return cut(Axis::Batch, sizeOf(s.batch, 1));
    if (method == MatmulMethod::Strided) { // cutting columns repeats no packing of the right side, cutting rows none of a transposed left side
      bool rows = s.m > s.n;
      return cut(rows ? Axis::M : Axis::N, sizeOf(rows ? s.m : s.n, kGrain));
    }
    bool gaps = s.lhsLd != (s.transposeLhs ? s.m : s.k) || s.rhsLd != (s.transposeRhs ? s.k : s.n) || s.outLd != s.n;
    bool freeRows = !gaps && !s.transposeLhs;
    // Measured: blocks of rows are fastest while they are high enough to hide the packing of the right side. Where sums are so long
    // that the copies of a few columns are large, rows need none.
    bool rows = s.m >= 2 * kBlockRows || s.n < 2 * kBlockRows || (freeRows && kGrain * s.k > kCopyFloats);
    int64_t extent = rows ? s.m : s.n, each = std::min(std::max(sizeOf(extent, kGrain), kBlockRows), extent);
    if (!(rows && freeRows) && (gaps || each < extent)) {
      int64_t copied = s.k + (gaps || !rows ? (rows ? s.n : s.m) : 0); // of each row or column of a block
      each = std::min(each, std::max(kCopyFloats / std::max<int64_t>(copied, 1) / kGrain * kGrain, kGrain));
    }
    cut(rows ? Axis::M : Axis::N, each);
  }

  /// What oneDNN may take for a product by blocks (see above), its lists and alignment included.
  static int64_t scratchBytes(int64_t m, int64_t n, int64_t k, bool transposeLhs, int64_t bytes) {
    constexpr int64_t kRows = 256, kColumns = 64, kSums = 512, kColumnBlocks = 16, kLists = 1024;
    bool isNarrow = bytes == 2, isLong = k > 2 * kSums && (!transposeLhs || m == 1); // a row lies the same either way
    int64_t rows = std::min(m, kRows), sums = roundUp(std::min(k, isLong ? 2 * kSums : kSums), 32);
    bool copiesLhs = transposeLhs || (isNarrow && k >= 4096 && m >= 1024 && std::has_single_bit(static_cast<uint64_t>(k)));
    int64_t columns = copiesLhs ? std::min(roundUp(n, kColumns), kColumnBlocks * kColumns) : kColumns;
    return roundUp(kLists + bytes * kColumns * sums + (copiesLhs ? bytes * rows * (sums + 32) : 0) +
                   (isNarrow && k > kSums ? 4 * rows * columns : 0));
  }

  /// Floats of both sides, the result and a part of its sum, then oneDNN's scratch or what is packed.
  int64_t widenedBytes() const {
    int64_t m = std::min(shape.m, kWideRows), n = std::min(shape.n, kWideColumns), k = std::min(shape.k, kWideSum);
    return 4 * (roundUp(m * k, 16) + roundUp(n * k, 16) + (shape.k > kWideSum ? 2 : 1) * roundUp(m * n, 16)) +
           std::max(scratchBytes(m, n, k, shape.transposeLhs, 4), packedBytes(m, n, k));
  }
};

/// How a product of that element is computed with AVX-512 (else with AVX2), and whether the CPU multiplies bf16.
inline MatmulMethod chooseMatmulMethod(const MatmulShape &shape, int64_t element, bool isV4, bool multipliesBF16) {
  constexpr int64_t kF32 = 0, kBF16 = 3; // ElementType of lib/Container/plan.fbs
  if (element == kF32)
    return !isV4 ? MatmulMethod::Packed : shape.batch > 1 || !shape.transposeLhs ? MatmulMethod::Dense : MatmulMethod::Strided;
  if (element == kBF16 && isV4 && multipliesBF16)
    return MatmulMethod::Dense;
  return element == kBF16 || element == 2 ? MatmulMethod::Widened : MatmulMethod::Loops;
}

/// The most that a product takes on any instruction set: all ranks and machines share a plan.
inline int64_t matmulWorkspaceBytes(std::span<const int64_t> integers) {
  std::optional<MatmulShape> shape = matmulShapeFromIntegers(integers);
  int64_t most = 0;
  for (int variant = 0; shape && variant < 3; ++variant)
    most = std::max(most, MatmulPlan(*shape, chooseMatmulMethod(*shape, integers[0], variant > 0, variant > 1), integers[0] == 0 ? 4 : 2).workspaceBytes());
  return most;
}

} // namespace zero

#endif
