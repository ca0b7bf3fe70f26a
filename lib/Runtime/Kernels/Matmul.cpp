//===- Matmul.cpp - Batched matrix products -------------------------------===//
//
// Those of f32 go through oneDNN, and of bf16 where the CPU multiplies them; those of f64, which it does not have, through
// MatmulDoubleLoops.inc; other 16-bit ones are widened in blocks (MatmulWidened.cpp).
//
// The output is cut into blocks that depend on the shape alone, and each block has its primitive: which
// thread computes it, and how many there are, changes no bit. oneDNN itself runs on one thread always (it
// blocks K by thread count).
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
#include "lib/Runtime/Kernels/MatmulWidened.h"
#include "lib/Runtime/Kernels/OneDnn.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

using namespace zero;
using namespace zero::kernels;

namespace {

using Shape = MatmulShape;

/// Work of one block: about a millisecond of one core, so that threads find blocks and one thread does not
/// notice them.
constexpr int64_t kBlockFlops = int64_t{1} << 27;
constexpr int64_t kMaxBlocks = 32;
/// Rows and columns of blocks are multiples of this (but the last).
constexpr int64_t kGrain = 64;
/// Most floats of one block's copies, so that they stay near the cache and the scratch small.
constexpr int64_t kCopyFloats = int64_t{1} << 20;
/// Least rows or columns of a block where blocks with gaps are copied.
constexpr int64_t kBlockRows = 256;

enum class Axis { Batch, M, N };

/// Size of a block along the axis that is cut; a function of the shape alone.
struct Cut {
  Axis axis;
  int64_t size;
};

Cut chooseCut(const Shape &s, bool copiesGaps, bool isNarrow) {
  double flops = 2.0 * s.batch * s.m * s.n * s.k;
  // Products of 16 bit run at twice the speed. A power of two, from half a block's work on at least two: three blocks would leave the
  // second thread idle for a third of the time.
  double wanted = flops / kBlockFlops / (isNarrow ? 2 : 1);
  int64_t blocks = wanted < 0.5 ? 1 : std::clamp<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::ceil(std::min<double>(wanted, kMaxBlocks)))), 2, kMaxBlocks);
  auto size = [&](int64_t extent, int64_t grain) {
    int64_t each = (extent + blocks - 1) / blocks;
    return std::max<int64_t>((each + grain - 1) / grain * grain, 1);
  };
  if (s.batch > 1)
    return {Axis::Batch, size(s.batch, 1)};
  if (!copiesGaps) // cutting columns repeats no packing of the right side, cutting rows none of a transposed left side
    return (s.transposeLhs ? s.m > s.n : s.m > 16 * s.n) ? Cut{Axis::M, size(s.m, kGrain)} : Cut{Axis::N, size(s.n, kGrain)};
  bool gaps = s.lhsLd != (s.transposeLhs ? s.m : s.k) || s.rhsLd != (s.transposeRhs ? s.k : s.n) || s.outLd != s.n;
  bool freeRows = !gaps && !s.transposeLhs;
  // Measured: blocks of rows are fastest while they are high enough to hide the packing of the right side. Where sums are so long
  // that the copies of a few columns are large, rows need none.
  bool rows = s.m >= 2 * kBlockRows || s.n < 2 * kBlockRows || (freeRows && kGrain * s.k > kCopyFloats);
  int64_t extent = rows ? s.m : s.n, each = std::min(std::max(size(extent, kGrain), kBlockRows), extent);
  if (!(rows && freeRows) && (gaps || each < extent)) {
    int64_t copied = s.k + (gaps || !rows ? (rows ? s.n : s.m) : 0); // of each row or column of a block
    each = std::min(each, std::max(kCopyFloats / std::max<int64_t>(copied, 1) / kGrain * kGrain, kGrain));
  }
  return {rows ? Axis::M : Axis::N, std::max<int64_t>(each, 1)};
}

/// One operand of a block as it lies in memory: `batches` matrices (one where they are the same) of rows.
struct Operand {
  int64_t batches, rows, columns, batchStride, ld;

  int64_t elements() const { return batches * rows * columns; }
  bool hasGaps() const {
    return (rows > 1 && ld != columns) || (batches > 1 && batchStride != rows * columns);
  }
  Operand withoutGaps() const { return {batches, rows, columns, rows * columns, columns}; }
};

void copyRows(const Operand &from, const char *source, const Operand &to, char *target, int64_t bytes) {
  for (int64_t b = 0; b < from.batches; ++b)
    for (int64_t row = 0; row < from.rows; ++row)
      std::memcpy(target + (b * to.batchStride + row * to.ld) * bytes,
                  source + (b * from.batchStride + row * from.ld) * bytes, from.columns * bytes);
}

/// A product over nothing is zero.
void zeroOutput(const Shape &shape, void *out, int64_t bytes) {
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t row = 0; row < shape.m; ++row)
      std::memset(static_cast<char *>(out) + (b * shape.outBatchStride + row * shape.outLd) * bytes, 0, shape.n * bytes);
}

class Matmul : public Kernel {
public:
  Matmul(const Shape &shape, Element element, CpuVariant variant)
      : shape(shape), isNarrow(element == Element::BF16), bytes(elementBytes(static_cast<int64_t>(element))),
        copiesGaps(variant == CpuVariant::X86_64_V4 && (isNarrow || shape.batch > 1 || !shape.transposeLhs)),
        cut(chooseCut(shape, copiesGaps, isNarrow)) {}

  /// Creates the primitives; throws dnnl::error.
  void prepare() {
    if (extent() == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0)
      return;
    int64_t full = std::min(cut.size, extent());
    body = std::make_unique<Primitive>(make(full));
    if (int64_t rest = extent() % full)
      tail = std::make_unique<Primitive>(make(rest));
    for (int64_t at = 0; at < extent(); at += full)
      blocks.push_back(bind(at + full <= extent() ? *body : *tail));
  }

  Status run(void *const *pointers, ParallelFor &parallel) override {
    if (shape.k == 0) {
      zeroOutput(shape, pointers[2], bytes);
      return {};
    }
    std::atomic<int> failed = 0;
    parallelFor(parallel, blocks.size(), [&](int64_t begin, int64_t end) {
      onednn::Scratch scratch;
      for (int64_t i = begin; i < end; ++i)
        if (int status = execute(i, pointers, scratch.data()))
          failed.store(status, std::memory_order_relaxed);
    });
    if (int status = failed.load())
      return Status::programFailed("matmul: oneDNN failed with status " + std::to_string(status));
    return {};
  }

private:
  /// One operand of a primitive, and where its copy begins in the scratch if it needs one.
  struct Argument {
    Operand given;
    dnnl::memory::desc desc;
    std::optional<int64_t> copyAt; ///< byte
  };
  /// A primitive for a block of `size` along the cut axis.
  struct Primitive {
    dnnl::matmul primitive;
    Argument lhs, rhs, out;
    dnnl::memory::desc scratchpad;
    int64_t copyBytes = 0; ///< of the scratch, before the primitive's own
  };
  /// Memory objects of one block: threads run blocks at the same time, and a memory object holds one pointer.
  struct Block {
    const Primitive *primitive;
    dnnl::memory lhs, rhs, out, scratchpad;
  };

  int64_t extent() const {
    return cut.axis == Axis::Batch ? shape.batch : cut.axis == Axis::M ? shape.m : shape.n;
  }

  Primitive make(int64_t size) const {
    using dnnl::memory;
    memory::dim batch = cut.axis == Axis::Batch ? size : shape.batch;
    memory::dim m = cut.axis == Axis::M ? size : shape.m, n = cut.axis == Axis::N ? size : shape.n,
                k = shape.k;
    Primitive made;
    auto argument = [&](memory::dim rows, memory::dim columns, bool transposed, int64_t batchStride, int64_t ld) {
      // The same matrix for the whole batch is a broadcast dimension.
      Operand given{batchStride == 0 ? 1 : batch, transposed ? columns : rows, transposed ? rows : columns,
                    batchStride, ld};
      Argument argument{given, {}, {}};
      Operand used = given;
      if (copiesGaps) {
        used = given.withoutGaps(); // also what stands behind a single row counts as a gap to oneDNN
        if (given.hasGaps()) {
          argument.copyAt = made.copyBytes;
          made.copyBytes += (given.elements() * bytes + 63) / 64 * 64;
        }
      }
      memory::dims dims{rows, columns}, strides{transposed ? 1 : used.ld, transposed ? used.ld : 1};
      if (batch > 1) {
        dims.insert(dims.begin(), given.batches);
        strides.insert(strides.begin(), batchStride == 0 ? rows * columns : used.batchStride);
      }
      argument.desc = memory::desc(dims, isNarrow ? memory::data_type::bf16 : memory::data_type::f32, strides);
      return argument;
    };
    made.lhs = argument(m, k, shape.transposeLhs, shape.lhsBatchStride, shape.lhsLd);
    made.rhs = argument(k, n, shape.transposeRhs, shape.rhsBatchStride, shape.rhsLd);
    made.out = argument(m, n, false, shape.outBatchStride, shape.outLd);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::matmul::primitive_desc description({made.lhs.desc, made.rhs.desc, made.out.desc}, attributes,
                                             onednn::engine());
    made.primitive = dnnl::matmul(description);
    made.scratchpad = description.scratchpad_desc();
    onednn::Scratch::reserve(made.copyBytes + made.scratchpad.get_size());
    return made;
  }

  static Block bind(const Primitive &primitive) {
    auto memory = [](const dnnl::memory::desc &desc) {
      return dnnl::memory(desc, onednn::engine(), DNNL_MEMORY_NONE);
    };
    return {&primitive, memory(primitive.lhs.desc), memory(primitive.rhs.desc), memory(primitive.out.desc),
            memory(primitive.scratchpad)};
  }

  int execute(int64_t index, void *const *pointers, void *scratch) {
    int64_t at = index * cut.size, lhs = 0, rhs = 0, out = 0;
    switch (cut.axis) {
    case Axis::Batch:
      lhs = at * shape.lhsBatchStride, rhs = at * shape.rhsBatchStride, out = at * shape.outBatchStride;
      break;
    case Axis::M:
      lhs = at * (shape.transposeLhs ? 1 : shape.lhsLd), out = at * shape.outLd;
      break;
    case Axis::N:
      rhs = at * (shape.transposeRhs ? shape.rhsLd : 1), out = at;
      break;
    }
    Block &block = blocks[index];
    const Primitive &primitive = *block.primitive;
    auto *copies = static_cast<char *>(scratch);
    dnnl_stream_t stream = onednn::threadStream();
    dnnl_status_t status = dnnl_success;
    auto set = [&](const dnnl::memory &memory, void *pointer) {
      if (status == dnnl_success)
        status = dnnl_memory_set_data_handle_v2(memory.get(), pointer, stream);
    };
    auto setInput = [&](const Argument &argument, const dnnl::memory &memory, char *pointer) {
      if (argument.copyAt) {
        char *copy = copies + *argument.copyAt;
        copyRows(argument.given, pointer, argument.given.withoutGaps(), copy, bytes);
        pointer = copy;
      }
      set(memory, pointer);
    };
    setInput(primitive.lhs, block.lhs, static_cast<char *>(pointers[0]) + lhs * bytes);
    setInput(primitive.rhs, block.rhs, static_cast<char *>(pointers[1]) + rhs * bytes);
    char *result = static_cast<char *>(pointers[2]) + out * bytes;
    char *made = primitive.out.copyAt ? copies + *primitive.out.copyAt : result;
    set(block.out, made);
    set(block.scratchpad, copies + primitive.copyBytes);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, block.lhs.get()},
                                   {DNNL_ARG_WEIGHTS, block.rhs.get()},
                                   {DNNL_ARG_DST, block.out.get()},
                                   {DNNL_ARG_SCRATCHPAD, block.scratchpad.get()}};
    if (status == dnnl_success)
      status = dnnl_primitive_execute(primitive.primitive.get(), stream, std::size(arguments), arguments);
    if (made != result)
      copyRows(primitive.out.given.withoutGaps(), made, primitive.out.given, result, bytes);
    return status;
  }

  Shape shape;
  bool isNarrow;
  int64_t bytes; ///< of an element
  bool copiesGaps;
  Cut cut;
  std::unique_ptr<const Primitive> body, tail; // they are large; most have one
  std::vector<Block> blocks;
};

class MatmulDouble : public Kernel {
public:
  MatmulDouble(const Shape &shape, CpuVariant variant)
      : shape(shape), multiply(variant == CpuVariant::X86_64_V4 ? multiplyDoublesV4 : multiplyDoublesV3) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    auto *out = static_cast<double *>(pointers[2]);
    if (shape.k == 0) {
      zeroOutput(shape, out, sizeof(double));
      return {};
    }
    parallelFor(parallel, doubleProductItems(shape), [&](int64_t begin, int64_t end) {
      multiply(shape, static_cast<const double *>(pointers[0]), static_cast<const double *>(pointers[1]), out,
               begin, end);
    });
    return {};
  }

private:
  Shape shape;
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
  Shape shape;
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
  if (element == Element::F64)
    return std::unique_ptr<Kernel>(std::make_unique<MatmulDouble>(shape, options.variant));
  ZERO_RETURN_IF_ERROR(onednn::limitInstructionSet(options));
  try {
    onednn::threadStream(); // oneDNN on one thread, before it looks at the number of threads
    if (element == Element::F16 || (element == Element::BF16 && !options.bf16Products))
      return makeWidenedMatmul(shape, element);
    auto kernel = std::make_unique<Matmul>(shape, element, options.variant);
    kernel->prepare();
    return std::unique_ptr<Kernel>(std::move(kernel));
  } catch (const dnnl::error &error) {
    return Status::badInput(std::string("kernel 'matmul': oneDNN: ") + error.what());
  }
}
