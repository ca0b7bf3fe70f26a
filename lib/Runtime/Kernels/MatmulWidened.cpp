//===- MatmulWidened.cpp - Products of 16-bit floats as those of f32 ------===//
//
// What the CPU does not multiply itself goes through products of f32 (oneDNN's, with AVX2 ours), block by block: the blocks of both sides
// are widened into the workspace, the product is rounded once on its way out. Blocks depend on the shape alone, so do the sums:
// chunks of K in order. The matrices of a block have no gaps (Matmul.cpp says why).
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/MatmulWidened.h"
#include "lib/Runtime/Kernels/MatmulPacked.h"
#include "lib/Runtime/Kernels/OneDnnProduct.h"
#include "lib/Runtime/Kernels/WideRows.h"
#include "zero/Runtime/Kernels/MatmulSizes.h"
#include <algorithm>
#include <optional>
#include <vector>

using namespace zero;
using namespace zero::kernels;

namespace {

int64_t roundUp(int64_t floats) { return (floats + 15) / 16 * 16; }

/// One dimension cut into equal pieces and a rest.
struct Pieces {
  int64_t extent, size;
  Pieces(int64_t extent, int64_t most) : extent(extent), size(std::max<int64_t>(std::min(extent, most), 1)) {}
  int64_t count() const { return (extent + size - 1) / size; }
  int64_t at(int64_t i) const { return std::min(size, extent - i * size); }
  bool isRest(int64_t i) const { return at(i) != size; }
};

class WidenedMatmul : public Kernel {
public:
  WidenedMatmul(const MatmulShape &shape, Element element, CpuVariant variant)
      : shape(shape), isPacked(variant == CpuVariant::X86_64_V3), plan(shape, MatmulMethod::Widened, sizeof(uint16_t)), rows(shape.m, plan.kWideRows), columns(shape.n, plan.kWideColumns),
        sums(shape.k, plan.kWideSum), widen(element == Element::F16 ? widenFloat16s : widenBFloat16s),
        round(element == Element::F16 ? roundToFloat16s : roundToBFloat16s), parts(plan.parts, plan.partBytes) {
    rhsAt = roundUp(rows.size * sums.size);
    outAt = rhsAt + roundUp(columns.size * sums.size);
    partAt = outAt + roundUp(rows.size * columns.size);
    scratchAt = partAt + (sums.count() > 1 ? roundUp(rows.size * columns.size) : 0);
  }

  /// Creates the primitives; throws dnnl::error.
  Status prepare() {
    if (plan.blocks == 0 || isPacked)
      return {};
    for (int64_t i = 0; i < 8; ++i) {
      auto size = [i](const Pieces &pieces, int64_t bit) { return i & bit ? pieces.at(pieces.count() - 1) : pieces.size; };
      auto isThere = [i](const Pieces &pieces, int64_t bit) { return !(i & bit) || pieces.isRest(pieces.count() - 1); };
      if (!isThere(rows, 1) || !isThere(columns, 2) || !isThere(sums, 4))
        continue;
      products[i] = make(size(rows, 1), size(columns, 2), size(sums, 4));
      ZERO_RETURN_IF_ERROR(onednn::checkScratch("matmul", products[i]->scratchBytes(), plan.partBytes - scratchAt * sizeof(float)));
    }
    for (int64_t part = 0; part < plan.parts; ++part)
      for (const std::optional<onednn::Product> &product : products)
        bound.push_back(product ? std::optional<onednn::BoundProduct>(*product) : std::nullopt);
    return {};
  }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *lhs = static_cast<const uint16_t *>(pointers[0]), *rhs = static_cast<const uint16_t *>(pointers[1]);
    auto *out = static_cast<uint16_t *>(pointers[2]);
    return onednn::runItems(parallel, plan.blocks, parts, plan.partBytes ? pointers[3] : nullptr,
                            [&](int64_t item, const WorkspaceParts::Loan &loan) {
                              return block(item, isPacked ? nullptr : &bound[8 * loan.index()], lhs, rhs, out, reinterpret_cast<float *>(loan.data()));
                            });
  }

private:
  onednn::Product make(int64_t m, int64_t n, int64_t k) const {
    using dnnl::memory;
    auto matrix = [](int64_t height, int64_t width, bool transposed) {
      return memory::desc({height, width}, memory::data_type::f32,
                          transposed ? memory::dims{1, height} : memory::dims{width, 1});
    };
    return onednn::Product::make(matrix(m, k, shape.transposeLhs), matrix(k, n, shape.transposeRhs), matrix(m, n, false));
  }

  /// Widens a matrix of `height` rows at a distance of `ld` into dense rows.
  void take(const uint16_t *from, int64_t ld, int64_t height, int64_t width, float *to) const {
    for (int64_t row = 0; row < height; ++row)
      widen(from + row * ld, width, to + row * width);
  }

  dnnl_status_t block(int64_t item, const std::optional<onednn::BoundProduct> *bound, const uint16_t *lhs, const uint16_t *rhs, uint16_t *out,
                      float *scratch) const {
    int64_t i = item % rows.count(), j = item / rows.count() % columns.count(), b = item / rows.count() / columns.count();
    int64_t m = rows.at(i), n = columns.at(j), row = i * rows.size, column = j * columns.size;
    lhs += b * shape.lhsBatchStride + row * (shape.transposeLhs ? 1 : shape.lhsLd);
    rhs += b * shape.rhsBatchStride + column * (shape.transposeRhs ? shape.rhsLd : 1);
    out += b * shape.outBatchStride + row * shape.outLd + column;
    float *sum = scratch + outAt, *part = scratch + partAt;
    for (int64_t l = 0; l < sums.count(); ++l) {
      int64_t k = sums.at(l), at = l * sums.size;
      if (shape.transposeLhs)
        take(lhs + at * shape.lhsLd, shape.lhsLd, k, m, scratch);
      else
        take(lhs + at, shape.lhsLd, m, k, scratch);
      if (shape.transposeRhs)
        take(rhs + at, shape.rhsLd, n, k, scratch + rhsAt);
      else
        take(rhs + at * shape.rhsLd, shape.rhsLd, k, n, scratch + rhsAt);
      int which = (rows.isRest(i) ? 1 : 0) + (columns.isRest(j) ? 2 : 0) + (sums.isRest(l) ? 4 : 0);
      if (isPacked)
        multiplyPackedV3({1, m, n, k, shape.transposeLhs, shape.transposeRhs, 0, shape.transposeLhs ? m : k, 0, shape.transposeRhs ? k : n, 0, n},
                         scratch, scratch + rhsAt, l == 0 ? sum : part, m, n, scratch + scratchAt);
      else if (dnnl_status_t status = bound[which]->run(scratch, scratch + rhsAt, l == 0 ? sum : part, scratch + scratchAt))
        return status;
      for (int64_t e = 0; l > 0 && e < m * n; ++e)
        sum[e] += part[e];
    }
    for (int64_t r = 0; r < m; ++r)
      round(sum + r * n, n, out + r * shape.outLd);
    return dnnl_success;
  }

  MatmulShape shape;
  bool isPacked;
  MatmulPlan plan;
  Pieces rows, columns, sums;
  void (*widen)(const uint16_t *, int64_t, float *);
  void (*round)(const float *, int64_t, uint16_t *);
  int64_t rhsAt, outAt, partAt, scratchAt;                  ///< floats of a part of the workspace
  WorkspaceParts parts;
  std::optional<onednn::Product> products[8];               ///< bits of the index: rest of the rows, of the columns, of the sums
  std::vector<std::optional<onednn::BoundProduct>> bound;   ///< eight for each part
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeWidenedMatmul(const MatmulShape &shape, Element element, CpuVariant variant) {
  auto kernel = std::make_unique<WidenedMatmul>(shape, element, variant);
  ZERO_RETURN_IF_ERROR(kernel->prepare());
  return std::unique_ptr<Kernel>(std::move(kernel));
}
