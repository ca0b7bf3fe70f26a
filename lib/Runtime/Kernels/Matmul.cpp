//===- Matmul.cpp - Batched matrix products -------------------------------===//
//
// With AVX-512 those of f32 go through oneDNN, and of bf16 where the CPU multiplies them. Its product for AVX2 reaches half of the CPU's rate
// where rows lie a power of two apart, sums in an order that depends on the number of rows, and packs in memory that no plan has: with AVX2
// those of f32 go through MatmulPackedV3.cpp. Those of f64, which oneDNN does not have, go through MatmulDoubleLoops.inc; other 16-bit ones
// are widened in blocks (MatmulWidened.cpp).
//
// The output is cut into blocks that depend on the shape alone (MatmulSizes.h): which thread computes one, and how many there
// are, changes no bit. oneDNN itself runs on one thread always (it blocks K by thread count).
//
// With AVX-512 oneDNN has two products: one for matrices without gaps, whose order of summation depends on K
// alone, and one for the rest, whose order depends on the number of rows too. So blocks with gaps are copied
// together and only the first is used: no bit of a row depends on the other rows or on where they lie. Not so
// where K runs over the batch (a single product of f32 with the left side transposed: the gradient of a weight).
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/MatmulDouble.h"
#include "lib/Runtime/Kernels/MatmulPacked.h"
#include "lib/Runtime/Kernels/MatmulWidened.h"
#include "lib/Runtime/Kernels/OneDnnProduct.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include "zero/Runtime/Kernels/MatmulSizes.h"
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

using namespace zero;
using namespace zero::kernels;

namespace {

void copyRows(const MatmulOperand &from, const char *source, const MatmulOperand &to, char *target, int64_t bytes) {
  for (int64_t b = 0; b < from.batches; ++b)
    for (int64_t row = 0; row < from.rows; ++row)
      std::memcpy(target + (b * to.batchStride + row * to.ld) * bytes,
                  source + (b * from.batchStride + row * from.ld) * bytes, from.columns * bytes);
}

class Matmul : public Kernel {
public:
  Matmul(const MatmulShape &shape, Element element, MatmulMethod method)
      : shape(shape), bytes(elementBytes(static_cast<int64_t>(element))), plan(shape, method, bytes), parts(plan.parts, plan.partBytes) {}

  /// Creates the primitives; throws dnnl::error.
  Status prepare() {
    if (plan.blocks == 0)
      return {};
    for (int64_t size : {plan.size, plan.extent() % plan.size}) {
      if (size == 0)
        continue;
      blocks.push_back(std::make_unique<const Block>(make(size)));
      ZERO_RETURN_IF_ERROR(onednn::checkScratch("matmul", blocks.back()->product.scratchBytes(), plan.partBytes - plan.copyBytes(size)));
    }
    for (int64_t part = 0; part < plan.parts; ++part)
      for (const auto &block : blocks)
        bound.emplace_back(block->product);
    return {};
  }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    return onednn::runItems(parallel, plan.blocks, parts, plan.partBytes ? pointers[3] : nullptr,
                            [&](int64_t item, const WorkspaceParts::Loan &loan) { return execute(item, pointers, loan); });
  }

private:
  /// A matrix of a block, and whether it is copied.
  struct Argument {
    MatmulOperand given;
    bool copied = false;
    dnnl::memory::desc desc;
  };
  /// A primitive for blocks of one size.
  struct Block {
    Argument lhs, rhs, out;
    onednn::Product product;
  };

  Argument argument(const MatmulOperand &given, bool transposed, int64_t batch) const {
    using dnnl::memory;
    // What is copied has no gaps, and what stands behind a single row counts as a gap to oneDNN.
    bool isDense = plan.method == MatmulMethod::Dense;
    MatmulOperand used = isDense ? given.withoutGaps() : given;
    memory::dims dims{given.rows, given.columns}, strides{used.ld, 1};
    if (transposed) {
      std::swap(dims[0], dims[1]);
      std::swap(strides[0], strides[1]);
    }
    if (batch > 1) { // the same matrix for the whole batch is a broadcast dimension
      dims.insert(dims.begin(), given.batches);
      strides.insert(strides.begin(), given.batchStride == 0 ? given.rows * given.columns : used.batchStride);
    }
    return {given, plan.copyBytes(given) != 0, memory::desc(dims, bytes == 2 ? memory::data_type::bf16 : memory::data_type::f32, strides)};
  }

  Block make(int64_t size) const {
    int64_t batch = plan.axis == MatmulPlan::Axis::Batch ? size : shape.batch;
    Block block{argument(plan.lhs(size), shape.transposeLhs, batch), argument(plan.rhs(size), shape.transposeRhs, batch),
                argument(plan.out(size), false, batch), {}};
    block.product = onednn::Product::make(block.lhs.desc, block.rhs.desc, block.out.desc);
    return block;
  }

  dnnl_status_t execute(int64_t index, void *const *pointers, const WorkspaceParts::Loan &loan) const {
    int64_t at = index * plan.size, lhs = 0, rhs = 0, out = 0;
    switch (plan.axis) {
    case MatmulPlan::Axis::Batch:
      lhs = at * shape.lhsBatchStride, rhs = at * shape.rhsBatchStride, out = at * shape.outBatchStride;
      break;
    case MatmulPlan::Axis::M:
      lhs = at * (shape.transposeLhs ? 1 : shape.lhsLd), out = at * shape.outLd;
      break;
    case MatmulPlan::Axis::N:
      rhs = at * (shape.transposeRhs ? shape.rhsLd : 1), out = at;
      break;
    }
    size_t which = at + plan.size <= plan.extent() ? 0 : 1; // the last block may be smaller
    const Block &block = *blocks[which];
    char *space = loan.data();
    auto place = [&](const Argument &argument, void *pointer, int64_t offset) {
      char *given = static_cast<char *>(pointer) + offset * bytes;
      return argument.copied ? std::exchange(space, space + plan.copyBytes(argument.given)) : given;
    };
    auto take = [&](const Argument &argument, void *pointer, int64_t offset) {
      char *used = place(argument, pointer, offset);
      if (argument.copied)
        copyRows(argument.given, static_cast<char *>(pointer) + offset * bytes, argument.given.withoutGaps(), used, bytes);
      return used;
    };
    char *left = take(block.lhs, pointers[0], lhs), *right = take(block.rhs, pointers[1], rhs), *made = place(block.out, pointers[2], out);
    dnnl_status_t status = bound[loan.index() * blocks.size() + which].run(left, right, made, space);
    if (block.out.copied)
      copyRows(block.out.given.withoutGaps(), made, block.out.given, static_cast<char *>(pointers[2]) + out * bytes, bytes);
    return status;
  }

  MatmulShape shape;
  int64_t bytes; ///< of an element
  MatmulPlan plan;
  WorkspaceParts parts;
  std::vector<std::unique_ptr<const Block>> blocks; ///< of plan.size, and of the rest if there is one
  std::vector<onednn::BoundProduct> bound;          ///< for each part one of each size
};

/// A product over nothing is zero.
class MatmulOfNothing : public Kernel {
public:
  MatmulOfNothing(const MatmulShape &shape, Element element) : shape(shape), bytes(elementBytes(static_cast<int64_t>(element))) {}

  Status run(void *const *pointers, ParallelFor &) override {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t row = 0; row < shape.m; ++row)
        std::memset(static_cast<char *>(pointers[2]) + (b * shape.outBatchStride + row * shape.outLd) * bytes, 0, shape.n * bytes);
    return {};
  }

private:
  MatmulShape shape;
  int64_t bytes; ///< of an element
};

class MatmulDouble : public Kernel {
public:
  MatmulDouble(const MatmulShape &shape, CpuVariant variant)
      : shape(shape), multiply(variant == CpuVariant::X86_64_V4 ? multiplyDoublesV4 : multiplyDoublesV3) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *out = static_cast<double *>(pointers[2]);
    parallelFor(parallel, doubleProductItems(shape), [&](int64_t begin, int64_t end) {
      multiply(shape, static_cast<const double *>(pointers[0]), static_cast<const double *>(pointers[1]), out,
               begin, end);
    });
    return {};
  }

private:
  MatmulShape shape;
  DoubleProduct *multiply;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeMatmul(std::span<const int64_t> integers,
                                                      std::span<const double>, const KernelOptions &options) {
  Parameters parameters("matmul", integers);
  int64_t number = parameters.next();
  if (number < static_cast<int64_t>(Element::F32) || number > static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + std::string(elementName(number)) + " is not supported, must be a float");
  auto element = static_cast<Element>(number);
  MatmulShape shape;
  shape.batch = parameters.size("batch");
  shape.m = parameters.size("m");
  shape.n = parameters.size("n");
  shape.k = parameters.size("k");
  shape.transposeLhs = parameters.next() != 0;
  shape.transposeRhs = parameters.next() != 0;
  shape.lhsBatchStride = parameters.size("lhs_batch_stride");
  shape.lhsLd = parameters.size("lhs_ld");
  shape.rhsBatchStride = parameters.size("rhs_batch_stride");
  shape.rhsLd = parameters.size("rhs_ld");
  shape.outBatchStride = parameters.size("out_batch_stride");
  shape.outLd = parameters.size("out_ld");
  auto checkLd = [&](const char *what, int64_t ld, int64_t columns) {
    if (ld < columns)
      parameters.fail(std::string(what) + " is " + std::to_string(ld) + ", must be at least the " +
                      std::to_string(columns) + " elements of a row");
  };
  checkLd("lhs_ld", shape.lhsLd, shape.transposeLhs ? shape.m : shape.k);
  checkLd("rhs_ld", shape.rhsLd, shape.transposeRhs ? shape.k : shape.n);
  checkLd("out_ld", shape.outLd, shape.n);
  if (shape.batch > 1 && shape.m * shape.n > 0 &&
      shape.outBatchStride < (shape.m - 1) * shape.outLd + shape.n)
    parameters.fail("out_batch_stride is " + std::to_string(shape.outBatchStride) +
                    ", must be at least the " + std::to_string((shape.m - 1) * shape.outLd + shape.n) +
                    " elements of a matrix");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (shape.k == 0)
    return std::unique_ptr<Kernel>(std::make_unique<MatmulOfNothing>(shape, element));
  if (element == Element::F64)
    return std::unique_ptr<Kernel>(std::make_unique<MatmulDouble>(shape, options.variant));
  ZERO_RETURN_IF_ERROR(onednn::limitInstructionSet(options));
  try {
    onednn::threadStream(); // oneDNN on one thread, before it looks at the number of threads
    MatmulMethod method = chooseMatmulMethod(shape, number, options.variant == CpuVariant::X86_64_V4, options.bf16Products);
    if (method == MatmulMethod::Packed)
      return makePackedMatmul(shape);
    if (method == MatmulMethod::Widened)
      return makeWidenedMatmul(shape, element, options.variant);
    auto kernel = std::make_unique<Matmul>(shape, element, method);
    ZERO_RETURN_IF_ERROR(kernel->prepare());
    return std::unique_ptr<Kernel>(std::move(kernel));
  } catch (const dnnl::error &error) {
    return Status::badInput(std::string("kernel 'matmul': oneDNN: ") + error.what());
  }
}
