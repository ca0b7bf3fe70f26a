//===- CopyLaunches.cpp - fill, strided_copy, and products ----------------===//
//
// Products are cuBLASLt's: here their numbers are checked, and those over nothing become zeros.
//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/StridedCopyShape.h"

using namespace zero;
using namespace zero::kernels;

namespace {

using Dimension = StridedCopyShape::Dimension;

constexpr std::string_view kCopySource = "Copy.cuh";

/// ", zero::Dimension<4, 1, 1>" for each, innermost first.
std::string textOf(const std::vector<Dimension> &dims) {
  std::string text;
  for (size_t i = dims.size(); i-- > 0;)
    text += ", zero::Dimension<" + std::to_string(dims[i].size) + ", " + std::to_string(dims[i].source) + ", " +
            std::to_string(dims[i].target) + ">";
  return text;
}

uint64_t itemsOf(const std::vector<Dimension> &dims) {
  uint64_t items = 1;
  for (const Dimension &d : dims)
    items *= static_cast<uint64_t>(d.size);
  return items;
}

/// "u32, 12ull, zero::Dimension<...>...": what copyItems and fillItems take behind the type of their elements.
std::string loopOf(const std::vector<Dimension> &dims) {
  uint64_t items = itemsOf(dims);
  return (items >> 32 ? "u64, " : "u32, ") + std::to_string(items) + "ull" + textOf(dims);
}

/// The dimensions in units of `each` elements; nothing where an element's unit would not be whole.
std::vector<Dimension> inUnits(std::vector<Dimension> dims, int64_t each) {
  if (dims.empty() || dims.back().source != 1 || dims.back().target != 1 || dims.back().size % each)
    return {};
  dims.back().size /= each;
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    if (dims[i].source % each || dims[i].target % each)
      return {};
    dims[i].source /= each;
    dims[i].target /= each;
  }
  return dims;
}

/// A copy whose target runs along the last dimension and whose source along dimension `rows`, in tiles.
LaunchText transpose(std::vector<Dimension> dims, size_t rowsAt, int64_t bytes, LaunchText text) {
  Dimension columns = dims.back(), rows = dims[rowsAt];
  dims.pop_back();
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(rowsAt));
  text.blocks = static_cast<uint64_t>((rows.size + 31) / 32) * static_cast<uint64_t>((columns.size + 31) / 32) * itemsOf(dims);
  text.threads = 32;
  text.threadRows = 8;
  text.body += std::string("zero::transposeTiles<") + cudaUnit(bytes) + ", " + std::to_string(rows.size) + ", " +
               std::to_string(columns.size) + ", " + std::to_string(columns.source) + ", " + std::to_string(rows.target) + textOf(dims) +
               ">(source, target);";
  return text;
}

} // namespace

Launches kernels::planFill(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  int64_t bytes = parameters.next(), count = parameters.size("count");
  auto bits = static_cast<uint64_t>(parameters.next());
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    parameters.fail("element_bytes is " + std::to_string(bytes) + ", must be 1, 2, 4 or 8");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (count == 0)
    return std::vector<CudaLaunch>();
  LaunchText text{"fill", {kCopySource}, {{cudaUnit(bytes), 0}}};
  text.blocks = loopBlocks(static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes) / 16);
  std::string type = cudaUnit(bytes);
  text.body = "zero::fillElements<" + type + ", " + std::to_string(count) + "ull>(p0, " + type + "(" + std::to_string(bits) + "ull));";
  return std::vector<CudaLaunch>{text.finish()};
}

Launches kernels::planStridedCopy(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  Expected<StridedCopyShape> shape = StridedCopyShape::read(parameters);
  ZERO_RETURN_IF_ERROR(shape.status());
  if (shape->empty())
    return std::vector<CudaLaunch>();
  int64_t bytes = shape->bytes;
  std::vector<Dimension> dims = StridedCopyShape::merge(shape->dimensions);
  std::string type = cudaUnit(bytes);
  LaunchText text{"strided_copy", {kCopySource}, {{"const " + type, 0}, {type, 1}}};
  text.body = "const " + type + " *source = p0 + " + std::to_string(shape->sourceOffset) + "; " + type + " *target = p1 + " +
              std::to_string(shape->targetOffset) + "; ";
  if (dims.size() > 1 && dims.back().target == 1 && dims.back().source != 1 && dims.back().size >= 8)
    for (size_t i = 0; i + 1 < dims.size(); ++i)
      if (dims[i].source == 1 && dims[i].size >= 8)
        return std::vector<CudaLaunch>{transpose(dims, i, bytes, text).finish()};
  text.blocks = loopBlocks(itemsOf(dims));
  for (int64_t unit = 16; unit > bytes; unit /= 2) {
    std::vector<Dimension> units = inUnits(dims, unit / bytes);
    if (units.empty())
      continue;
    text.blocks = loopBlocks(itemsOf(units));
    std::string wide = cudaUnit(unit);
    text.body += "if (zero::isAligned<" + wide + ">(source) && zero::isAligned<" + wide + ">(target)) zero::copyItems<" + wide + ", " +
                 loopOf(units) + ">(reinterpret_cast<const " + wide + " *>(source), reinterpret_cast<" + wide + " *>(target)); else ";
    break;
  }
  text.body += "zero::copyItems<" + type + ", " + loopOf(dims) + ">(source, target);";
  return std::vector<CudaLaunch>{text.finish()};
}

namespace {

struct ProductSizes {
  int64_t element, batch, m, n, k, outBatchStride, outLd;
};

/// The integers of matmul, checked.
ProductSizes readProduct(Parameters &parameters) {
  int64_t element = parameters.next();
  if (element < 0 || element > static_cast<int64_t>(Element::BF16))
    parameters.fail("element type " + std::string(elementName(element)) + " is not supported, must be a float");
  int64_t batch = parameters.size("batch"), m = parameters.size("m"), n = parameters.size("n"), k = parameters.size("k");
  bool transposeLhs = parameters.next() != 0, transposeRhs = parameters.next() != 0;
  parameters.size("lhs_batch_stride");
  int64_t lhsLd = parameters.size("lhs_ld");
  parameters.size("rhs_batch_stride");
  int64_t rhsLd = parameters.size("rhs_ld"), outBatchStride = parameters.size("out_batch_stride"), outLd = parameters.size("out_ld");
  auto checkLd = [&](const char *what, int64_t ld, int64_t columns) {
    if (ld < columns)
      parameters.fail(std::string(what) + " is " + std::to_string(ld) + ", must be at least the " + std::to_string(columns) +
                      " elements of a row");
  };
  checkLd("lhs_ld", lhsLd, transposeLhs ? m : k);
  checkLd("rhs_ld", rhsLd, transposeRhs ? k : n);
  checkLd("out_ld", outLd, n);
  if (batch > 1 && m * n > 0 && outBatchStride < (m - 1) * outLd + n)
    parameters.fail("out_batch_stride is " + std::to_string(outBatchStride) + ", must be at least the " +
                    std::to_string((m - 1) * outLd + n) + " elements of a matrix");
  return {element, batch, m, n, k, outBatchStride, outLd};
}

} // namespace

Launches kernels::planFusedMatmul(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  const ProductSizes product = readProduct(parameters);
  const int64_t addendLd = parameters.size("addend_ld"), hasBias = parameters.next(), activation = parameters.next(), beforeLd = parameters.size("before_ld"),
                biasGradient = parameters.next();
  auto name = [](int64_t value) { return std::to_string(value); };
  if (product.element == static_cast<int64_t>(Element::F64))
    parameters.fail("element type f64 is not supported");
  if (product.batch != 1 || product.m == 0 || product.n == 0 || product.k == 0)
    parameters.fail("takes one product of matrices that have elements, not " + name(product.batch) + " x (" + name(product.m) + " x " + name(product.k) + " by " +
                    name(product.k) + " x " + name(product.n) + ")");
  if (addendLd && addendLd < product.n)
    parameters.fail("addend_ld is " + name(addendLd) + ", must be at least the " + name(product.n) + " elements of a row");
  if (activation < 0 || activation > 2)
    parameters.fail("activation is " + name(activation) + ", outside [0, 3)");
  if (biasGradient < 0 || biasGradient > 3)
    parameters.fail("bias_gradient is " + name(biasGradient) + ", outside [0, 4)");
  if (beforeLd ? activation == 0 : activation == 2)
    parameters.fail("before_ld is " + name(beforeLd) + " with activation " + name(activation));
  if (beforeLd && (beforeLd < product.n || beforeLd % 8))
    parameters.fail("before_ld is " + name(beforeLd) + ", must be a multiple of 8 and at least the " + name(product.n) + " elements of a row");
  // What cuBLASLt has an epilogue for, or we no use.
  const bool sumsOperand = biasGradient == 1 || biasGradient == 2;
  if ((addendLd && activation) || (hasBias && activation == 2) || (biasGradient == 3 && activation != 2) || (sumsOperand && (activation || hasBias || addendLd)))
    parameters.fail("cannot combine addend_ld " + name(addendLd) + ", has_bias " + name(hasBias) + ", activation " + name(activation) + " and bias_gradient " +
                    name(biasGradient));
  ZERO_RETURN_IF_ERROR(parameters.finish());
  return std::vector<CudaLaunch>();
}

Launches kernels::planMatmul(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  const auto [element, batch, m, n, k, outBatchStride, outLd] = readProduct(parameters);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  if (k != 0 || batch == 0 || m == 0 || n == 0)
    return std::vector<CudaLaunch>();
  // A product over nothing is zero.
  std::vector<Dimension> dims = StridedCopyShape::merge({{batch, outBatchStride, outBatchStride}, {m, outLd, outLd}, {n, 1, 1}});
  LaunchText text{"matmul", {kCopySource}, {{cudaUnit(elementBytes(element)), 2}}};
  text.blocks = loopBlocks(itemsOf(dims));
  std::string type = cudaUnit(elementBytes(element));
  text.body = "zero::fillItems<" + type + ", " + loopOf(dims) + ">(p0, " + type + "(0));";
  return std::vector<CudaLaunch>{text.finish()};
}
