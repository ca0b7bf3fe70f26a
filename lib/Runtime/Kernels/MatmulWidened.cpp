//===- MatmulWidened.cpp - Products of 16-bit floats as those of f32 ------===//
//
// What the CPU does not multiply itself goes through oneDNN's product of f32, block by block: the blocks of both sides are
// widened into scratch, the product is rounded once on its way out. Blocks depend on the shape alone, so do the sums:
// chunks of K in order. The matrices of a block have no gaps (Matmul.cpp says why).
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/MatmulWidened.h"
#include "lib/Runtime/Kernels/OneDnn.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/WideRows.h"
#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Rows and columns of a block, and the numbers that one of its products sums: 5 MiB of scratch.
constexpr int64_t kRows = 256, kColumns = 256, kSum = 2048;
/// Most threads that work on one product.
constexpr int64_t kRanges = 32;

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
  WidenedMatmul(const MatmulShape &shape, Element element)
      : shape(shape), rows(shape.m, kRows), columns(shape.n, kColumns), sums(shape.k, kSum),
        widen(element == Element::F16 ? widenFloat16s : widenBFloat16s),
        round(element == Element::F16 ? roundToFloat16s : roundToBFloat16s),
        items(shape.batch * rows.count() * columns.count()) {
    if (shape.batch == 0 || shape.m == 0 || shape.n == 0)
      items = 0;
    rhsAt = roundUp(rows.size * sums.size);
    outAt = rhsAt + roundUp(columns.size * sums.size);
    partAt = outAt + roundUp(rows.size * columns.size);
    scratchpadAt = partAt + (sums.count() > 1 ? roundUp(rows.size * columns.size) : 0);
    for (int64_t i = 0; i < 8; ++i)
      if (items > 0 && (!(i & 1) || rows.isRest(rows.count() - 1)) && (!(i & 2) || columns.isRest(columns.count() - 1)) &&
          (!(i & 4) || (sums.count() > 0 && sums.isRest(sums.count() - 1))) && shape.k > 0)
        products[i] = make(i & 1 ? rows.at(rows.count() - 1) : rows.size,
                           i & 2 ? columns.at(columns.count() - 1) : columns.size,
                           i & 4 ? sums.at(sums.count() - 1) : sums.size);
    for (int64_t range = 0; range < std::min(items, kRanges); ++range)
      for (const std::optional<Product> &product : products)
        bound.push_back(product ? bind(*product) : Bound());
  }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *lhs = static_cast<const uint16_t *>(pointers[0]), *rhs = static_cast<const uint16_t *>(pointers[1]);
    auto *out = static_cast<uint16_t *>(pointers[2]);
    std::atomic<int> failed = 0;
    int64_t ranges = std::min(items, kRanges);
    parallelFor(parallel, ranges, [&](int64_t begin, int64_t end) {
      onednn::Scratch scratch;
      for (int64_t range = begin; range < end; ++range)
        for (int64_t item = items * range / ranges; item < items * (range + 1) / ranges; ++item)
          if (int status = block(item, &bound[8 * range], lhs, rhs, out, static_cast<float *>(scratch.data())))
            failed.store(status, std::memory_order_relaxed);
    });
    if (int status = failed.load())
      return Status::programFailed("matmul: oneDNN failed with status " + std::to_string(status));
    return {};
  }

private:
  struct Product {
    dnnl::matmul primitive;
    dnnl::memory::desc lhs, rhs, out, scratchpad;
  };
  /// Memory objects of one range of items: a memory object holds one pointer.
  struct Bound {
    dnnl::memory lhs, rhs, out, scratchpad;
  };

  Product make(int64_t m, int64_t n, int64_t k) const {
    using dnnl::memory;
    auto matrix = [](int64_t height, int64_t width, bool transposed) {
      return memory::desc({height, width}, memory::data_type::f32,
                          transposed ? memory::dims{1, height} : memory::dims{width, 1});
    };
    Product made;
    made.lhs = matrix(m, k, shape.transposeLhs);
    made.rhs = matrix(k, n, shape.transposeRhs);
    made.out = matrix(m, n, false);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::matmul::primitive_desc description({made.lhs, made.rhs, made.out}, attributes, onednn::engine());
    made.primitive = dnnl::matmul(description);
    made.scratchpad = description.scratchpad_desc();
    onednn::Scratch::reserve(scratchpadAt * sizeof(float) + made.scratchpad.get_size());
    return made;
  }

  static Bound bind(const Product &product) {
    auto memory = [](const dnnl::memory::desc &desc) { return dnnl::memory(desc, onednn::engine(), DNNL_MEMORY_NONE); };
    return {memory(product.lhs), memory(product.rhs), memory(product.out), memory(product.scratchpad)};
  }

  /// Widens a matrix of `height` rows at a distance of `ld` into dense rows.
  void take(const uint16_t *from, int64_t ld, int64_t height, int64_t width, float *to) const {
    for (int64_t row = 0; row < height; ++row)
      widen(from + row * ld, width, to + row * width);
  }

  int block(int64_t item, Bound *memories, const uint16_t *lhs, const uint16_t *rhs, uint16_t *out, float *scratch) {
    int64_t i = item % rows.count(), j = item / rows.count() % columns.count(), b = item / rows.count() / columns.count();
    int64_t m = rows.at(i), n = columns.at(j), row = i * rows.size, column = j * columns.size;
    lhs += b * shape.lhsBatchStride + row * (shape.transposeLhs ? 1 : shape.lhsLd);
    rhs += b * shape.rhsBatchStride + column * (shape.transposeRhs ? shape.rhsLd : 1);
    out += b * shape.outBatchStride + row * shape.outLd + column;
    float *sum = scratch + outAt, *part = scratch + partAt;
    std::fill(sum, sum + (shape.k ? 0 : m * n), 0.0f); // a product over nothing is zero
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
      if (int status = multiply(*products[which], memories[which], scratch, l == 0 ? sum : part))
        return status;
      for (int64_t e = 0; l > 0 && e < m * n; ++e)
        sum[e] += part[e];
    }
    for (int64_t r = 0; r < m; ++r)
      round(sum + r * n, n, out + r * shape.outLd);
    return 0;
  }

  int multiply(const Product &product, Bound &memories, float *scratch, float *out) const {
    dnnl_stream_t stream = onednn::threadStream();
    std::pair<dnnl_memory_t, float *> places[] = {{memories.lhs.get(), scratch},
                                                  {memories.rhs.get(), scratch + rhsAt},
                                                  {memories.out.get(), out},
                                                  {memories.scratchpad.get(), scratch + scratchpadAt}};
    for (auto [memory, pointer] : places)
      if (dnnl_status_t status = dnnl_memory_set_data_handle_v2(memory, pointer, stream))
        return status;
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, places[0].first},
                                   {DNNL_ARG_WEIGHTS, places[1].first},
                                   {DNNL_ARG_DST, places[2].first},
                                   {DNNL_ARG_SCRATCHPAD, places[3].first}};
    return dnnl_primitive_execute(product.primitive.get(), stream, std::size(arguments), arguments);
  }

  MatmulShape shape;
  Pieces rows, columns, sums;
  void (*widen)(const uint16_t *, int64_t, float *);
  void (*round)(const float *, int64_t, uint16_t *);
  int64_t items;
  int64_t rhsAt, outAt, partAt, scratchpadAt; ///< floats of the scratch
  std::optional<Product> products[8];         ///< bits of the index: rest of the rows, of the columns, of the sums
  std::vector<Bound> bound;                   ///< eight for each range
};

} // namespace

std::unique_ptr<Kernel> kernels::makeWidenedMatmul(const MatmulShape &shape, Element element) {
  return std::make_unique<WidenedMatmul>(shape, element);
}
