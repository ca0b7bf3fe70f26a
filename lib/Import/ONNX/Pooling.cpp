//===- Pooling.cpp - Pooling over windows and over whole planes -----------===//
#include "ExporterCall.h"
#include "OperatorTable.h"
#include "Sliding.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Data with its windows; every window begins inside the data or in front of it.
struct Pool {
  Tensor x;
  SmallVector<int64_t> spatial;
  Sliding sliding;
  /// Padding that counts as elements: what the node says, without what ceil_mode adds.
  SmallVector<int64_t> high;

  Dims shape() const {
    Dims result(ArrayRef(x.shape).take_front(2));
    for (int64_t positions : sliding.positions)
      result.push_back(Dim(positions));
    return result;
  }
};

FailureOr<Pool> readPool(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<SmallVector<int64_t>> spatial = spatialSizes(node, *x);
  if (failed(spatial))
    return failure();
  FailureOr<SmallVector<int64_t>> window = windowAttribute(node, spatial->size());
  if (failed(window))
    return failure();
  FailureOr<Sliding> exact = slide(node, *spatial, *window), sliding = exact;
  if (succeeded(exact) && node.intAttribute("ceil_mode", 0))
    sliding = slide(node, *spatial, *window, /*ceil=*/true);
  if (failed(exact) || failed(sliding))
    return failure();
  for (auto [i, size] : llvm::enumerate(*spatial))
    if (std::max(exact->low[i], exact->high[i]) > exact->reach(i)) {
      node.error() << "padding of " << std::max(exact->low[i], exact->high[i])
                   << " elements is not below the " << exact->reach(i) + 1
                   << " elements that a window reaches over in spatial dimension " << i;
      return failure();
    }
  return Pool{*x, *spatial, *sliding, exact->high};
}

/// How many elements window `o` along one dimension has inside the data, or inside the padded data.
int64_t countElements(const Pool &pool, size_t i, int64_t o, bool withPadding) {
  const Sliding &s = pool.sliding;
  int64_t begin = withPadding ? -s.low[i] : 0, end = pool.spatial[i] + (withPadding ? pool.high[i] : 0);
  int64_t start = o * s.strides[i] - s.low[i], d = s.dilations[i];
  int64_t skipped = start >= begin ? 0 : (begin - start + d - 1) / d;
  int64_t inside = start >= end ? 0 : (end - 1 - start) / d + 1;
  return std::max<int64_t>(std::min(inside, s.window[i]) - skipped, 0);
}

Tensor sumPool(NodeContext &node, const Pool &pool, const Tensor &x) {
  const Sliding &s = pool.sliding;
  return node.make<nn::SumPoolOp>(pool.shape(), x.elementType(), x.value, s.window, s.strides, s.low, s.high,
                                  s.dilations);
}

/// 0, 1, ... for each N and C of `like`, in the shape N x C x 1 ..., as i64.
Tensor planeNumbers(NodeContext &node, const Tensor &like) {
  Type i64 = node.builder.getI64Type();
  Dims shape(ArrayRef(like.shape).take_front(2));
  Tensor one = node.splat(1, i64);
  auto leading = [&] { return node.slice(node.shapeOf(like), {0}, {1}, {Dim(2)}); };
  // A running sum of ones: the batch may be known only later.
  Tensor flat = node.reshape(node.broadcastTo(one, shape, leading), {node.extent(like, 0, 2)});
  Tensor numbers = node.make<nn::CumSumOp>(flat.shape, i64, flat.value, 0, /*exclusive=*/true,
                                           /*reverse=*/false);
  Dims result = shape;
  result.append(like.rank() - 2, Dim(1));
  return node.reshape(numbers, std::move(result), {like});
}

/// Row-major indices within a plane as column-major ones: the first spatial dimension runs fastest.
Tensor columnMajor(NodeContext &node, Tensor indices, ArrayRef<int64_t> spatial) {
  Type i64 = node.builder.getI64Type();
  auto number = [&](int64_t value) {
    return node.broadcastTo(node.splat(static_cast<double>(value), i64), indices.shape,
                            [&] { return node.shapeOf(indices); });
  };
  Tensor rest = indices, result = number(0);
  SmallVector<int64_t> steps{1};
  for (int64_t size : spatial)
    steps.push_back(steps.back() * size);
  for (size_t i = spatial.size(); i-- > 0;) {
    Tensor digit = node.binary<nn::RemOp>(rest, number(spatial[i]));
    rest = node.binary<nn::DivOp>(rest, number(spatial[i]));
    result = node.binary<nn::AddOp>(result, node.binary<nn::MulOp>(digit, number(steps[i])));
  }
  return result;
}

/// Dilated windows may step over all of the data.
LogicalResult checkWindows(NodeContext &node, const Pool &pool) {
  for (size_t i = 0; i < pool.spatial.size(); ++i)
    for (int64_t o = 0; o < pool.sliding.positions[i]; ++o)
      if (countElements(pool, i, o, /*withPadding=*/false) == 0)
        return node.error() << "a window that reaches over " << pool.sliding.reach(i) + 1
                            << " elements has no element of spatial dimension " << i << " at position " << o;
  return success();
}

LogicalResult buildMaxPool(NodeContext &node) {
  FailureOr<Pool> pool = readPool(node);
  if (failed(pool) || failed(checkWindows(node, *pool)))
    return failure();
  const Sliding &s = pool->sliding;
  Dims shape = pool->shape();
  Type i64 = node.builder.getI64Type();
  auto op = nn::MaxPoolOp::create(node.builder, node.location,
                                  TypeRange{node.tensorType(shape, pool->x.elementType()),
                                            node.tensorType(shape, i64)},
                                  pool->x.value, s.window, s.strides, s.low, s.high, s.dilations);
  if (failed(node.set(Tensor{op.getResult(), shape, std::nullopt})))
    return failure();
  if (node.results.size() < 2)
    return success();
  Tensor indices{op.getIndices(), shape, std::nullopt};
  if (node.intAttribute("storage_order", 0))
    indices = columnMajor(node, indices, pool->spatial);
  int64_t size = 1;
  for (int64_t extent : pool->spatial)
    size *= extent;
  // ONNX counts from the beginning of the whole tensor.
  Tensor planes = planeNumbers(node, pool->x);
  auto along = [&](const Tensor &tensor, const Dims &to, const Tensor &like) {
    return node.broadcastTo(tensor, to, [&] { return node.shapeOf(like); });
  };
  Tensor starts = node.binary<nn::MulOp>(
      planes, along(node.splat(static_cast<double>(size), i64), planes.shape, planes));
  return node.set(node.binary<nn::AddOp>(indices, along(starts, shape, indices)), 1);
}

/// The number of elements of each window: a product of one small vector for each dimension.
FailureOr<Tensor> windowCounts(NodeContext &node, const Pool &pool, const Tensor &like) {
  bool withPadding = node.intAttribute("count_include_pad", 0) != 0;
  auto shape = [&] { return node.shapeOf(like); };
  double same = 1;
  std::optional<Tensor> product;
  for (size_t i = 0; i < pool.spatial.size(); ++i) {
    int64_t positions = pool.sliding.positions[i], first = countElements(pool, i, 0, withPadding);
    bool allEqual = true;
    for (int64_t o = 0; o < positions; ++o) {
      int64_t count = countElements(pool, i, o, withPadding);
      allEqual &= count == first;
      if (count != 0)
        continue;
      node.error() << "a window along spatial dimension " << i << " has no element to take the average of";
      return failure();
    }
    if (allEqual) {
      same *= static_cast<double>(first);
      continue;
    }
    constexpr int64_t kMostCounts = 1 << 20; // they are numbers of the program
    if (positions > kMostCounts) {
      node.error() << "has " << positions << " windows of unequal size along spatial dimension " << i
                   << ", more than " << kMostCounts;
      return failure();
    }
    SmallVector<double> counts;
    for (int64_t o = 0; o < positions; ++o)
      counts.push_back(static_cast<double>(countElements(pool, i, o, withPadding)));
    SmallVector<int64_t> column(pool.spatial.size() - i, 1);
    column.front() = static_cast<int64_t>(counts.size());
    Tensor vector = node.cast(
        node.constant(DenseElementsAttr::get(RankedTensorType::get(column, node.builder.getF64Type()),
                                             ArrayRef<double>(counts))),
        like.elementType());
    Tensor wide = node.broadcastTo(vector, like.shape, shape);
    product = product ? node.binary<nn::MulOp>(*product, wide) : wide;
  }
  Tensor number = node.broadcastTo(node.splat(same, like.elementType()), like.shape, shape);
  if (!product)
    return number;
  return same == 1 ? *product : node.binary<nn::MulOp>(*product, number);
}

/// ONNX divides by the size of the window. The torch.export-based exporter leaves out another divisor and keeps the call:
/// avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override).
std::optional<int64_t> divisorOf(NodeContext &node) {
  ExporterCall call = exporterCallOf(*node.node);
  int64_t divisor;
  if (!node.trains() || !call.function.starts_with("avg_pool") || call.argument(6).getAsInteger(10, divisor) || divisor == 0)
    return std::nullopt;
  warnOfDroppedArgument(node, "a divisor", "divisor_override=" + Twine(divisor));
  return divisor;
}

/// Counts are exact in float32 at least.
LogicalResult buildAveragePool(NodeContext &node) {
  FailureOr<Pool> pool = readPool(node);
  if (failed(pool))
    return failure();
  if (!isa<FloatType>(pool->x.elementType()))
    return node.error() << "needs floats, not " << pool->x.type();
  Tensor sum = sumPool(node, *pool, pool->x);
  if (std::optional<int64_t> divisor = divisorOf(node)) {
    Tensor number = node.broadcastTo(node.splat(static_cast<double>(*divisor), sum.elementType()), sum.shape, [&] { return node.shapeOf(sum); });
    return node.set(node.binary<nn::DivOp>(sum, number));
  }
  FailureOr<Tensor> counts = windowCounts(node, *pool, sum);
  return failed(counts) ? failure() : node.set(node.binary<nn::DivOp>(sum, *counts));
}

/// The exponent of LpPool and GlobalLpPool: a float in operator set 1, an integer since 2.
FailureOr<double> normExponent(NodeContext &node) {
  double p = node.opset < 2 ? node.floatAttribute("p", 2) : static_cast<double>(node.intAttribute("p", 2));
  if (p >= 1)
    return p;
  node.error() << "p is " << p << ", below 1";
  return failure();
}

Tensor power(NodeContext &node, const Tensor &x, double exponent) {
  Tensor number =
      node.broadcastTo(node.splat(exponent, x.elementType()), x.shape, [&] { return node.shapeOf(x); });
  return node.binary<nn::PowOp>(x, number);
}

/// |x|^p, which is summed, and what makes the norm of the sum.
Tensor powerOfMagnitude(NodeContext &node, const Tensor &x, double p) {
  if (p == 2)
    return node.binary<nn::MulOp>(x, x);
  Tensor magnitude = node.unary<nn::AbsOp>(x);
  return p == 1 ? magnitude : power(node, magnitude, p);
}

Tensor root(NodeContext &node, const Tensor &sum, double p) {
  return p == 1 ? sum : p == 2 ? node.unary<nn::SqrtOp>(sum) : power(node, sum, 1 / p);
}

LogicalResult buildLpPool(NodeContext &node) {
  FailureOr<double> p = normExponent(node);
  FailureOr<Pool> pool = failed(p) ? FailureOr<Pool>(failure()) : readPool(node);
  if (failed(pool))
    return failure();
  if (!isa<FloatType>(pool->x.elementType()))
    return node.error() << "needs floats, not " << pool->x.type();
  return node.set(root(node, sumPool(node, *pool, powerOfMagnitude(node, pool->x, *p)), *p));
}

/// Puts the elements of x back where MaxPool found them, among zeros: indices count within the whole tensor
/// of the size that the windows say, of which `output_shape` may add elements at the end.
LogicalResult buildMaxUnpool(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), given = node.input(1);
  if (failed(x) || failed(given))
    return failure();
  FailureOr<SmallVector<int64_t>> spatial = spatialSizes(node, *x);
  if (failed(spatial))
    return failure();
  FailureOr<SmallVector<int64_t>> window = windowAttribute(node, spatial->size());
  FailureOr<Sliding> s = failed(window) ? FailureOr<Sliding>(failure()) : slidingAttributes(node, *window);
  if (failed(s))
    return failure();
  if (given->shape != x->shape || !isa<IntegerType>(given->elementType()))
    return node.error() << "indices of type " << given->type() << " do not fit data of type " << x->type();
  Dims shape(ArrayRef(x->shape).take_front(2));
  for (auto [i, size] : llvm::enumerate(*spatial)) {
    int64_t made = (size - 1) * s->strides[i] + (*window)[i] - s->low[i] - s->high[i];
    if (made < 1 || size < 1)
      return node.error() << "spatial dimension " << i << " of the result would have " << made << " elements";
    shape.push_back(Dim(made));
  }
  Dim all = node.extent(Tensor{x->value, shape, std::nullopt}, 0, x->rank());
  Tensor zeros = node.broadcastTo(node.splat(0, x->elementType()), shape, [&] {
    Tensor parts[] = {node.slice(node.shapeOf(*x), {0}, {1}, {Dim(2)}),
                      node.integers(llvm::map_to_vector(ArrayRef(shape).drop_front(2),
                                                        [](const Dim &dim) { return dim.value(); }))};
    return node.concat(parts, 0);
  });
  Tensor flat = node.reshape(zeros, {all}), updates = node.reshape(*x, {node.extent(*x, 0, x->rank())}),
         indices = node.reshape(*given, {node.extent(*given, 0, x->rank())});
  Tensor result = node.reshape(node.make<nn::ScatterOp>(flat.shape, x->elementType(), nn::ScatterKind::assign,
                                                        flat.value, updates.value, indices.value, 0),
                               shape);
  if (!node.has(2))
    return node.set(std::move(result));
  FailureOr<Tensor> sizes = node.shapeInput(2);
  if (failed(sizes))
    return failure();
  if (!sizes->contents || sizes->contents->size() != shape.size())
    return node.error() << "output_shape (input 2) must be constant, with one size for each dimension";
  SmallVector<int64_t> low(shape.size(), 0), high = low;
  for (auto [i, size] : llvm::enumerate(*sizes->contents)) {
    if (size == shape[i])
      continue;
    if (!size.isStatic() || !shape[i].isStatic() || size.value() < shape[i].value())
      return node.error() << "output_shape cuts dimension " << i << " of " << result.type();
    high[i] = size.value() - shape[i].value();
    shape[i] = size;
  }
  if (llvm::any_of(high, [](int64_t n) { return n != 0; }))
    result = node.make<nn::PadOp>(std::move(shape), x->elementType(), result.value, low, high, low,
                                  APFloat(0.0));
  return node.set(std::move(result));
}

//===----------------------------------------------------------------------===//
// Whole planes
//===----------------------------------------------------------------------===//

/// Data and its spatial dimensions, however many.
FailureOr<Tensor> planes(NodeContext &node, SmallVector<int64_t> &axes) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  if (x->rank() < 3 || !isa<FloatType>(x->elementType()) ||
      llvm::any_of(ArrayRef(x->shape).drop_front(2), [](const Dim &dim) { return !dim.isStatic(); })) {
    node.error() << "needs floats with spatial dimensions of known size, not " << x->type();
    return failure();
  }
  axes = llvm::to_vector(llvm::seq<int64_t>(2, x->rank()));
  return x;
}

LogicalResult buildGlobalMaxPool(NodeContext &node) {
  SmallVector<int64_t> axes;
  FailureOr<Tensor> x = planes(node, axes);
  return failed(x) ? failure()
                   : node.set(node.reduce(nn::ReduceKind::max, *x, axes, /*keepDims=*/true));
}

LogicalResult buildGlobalAveragePool(NodeContext &node) {
  SmallVector<int64_t> axes;
  FailureOr<Tensor> x = planes(node, axes);
  if (failed(x))
    return failure();
  double count = static_cast<double>(Dim::product(ArrayRef(x->shape).drop_front(2))->value());
  Tensor sum = node.reduce(nn::ReduceKind::sum, *x, axes, /*keepDims=*/true);
  Tensor number =
      node.broadcastTo(node.splat(count, x->elementType()), sum.shape, [&] { return node.shapeOf(sum); });
  return node.set(node.binary<nn::DivOp>(sum, number));
}

LogicalResult buildGlobalLpPool(NodeContext &node) {
  SmallVector<int64_t> axes;
  FailureOr<double> p = normExponent(node);
  FailureOr<Tensor> x = failed(p) ? FailureOr<Tensor>(failure()) : planes(node, axes);
  if (failed(x))
    return failure();
  Tensor sum =
      node.reduce(nn::ReduceKind::sum, powerOfMagnitude(node, *x, *p), axes, /*keepDims=*/true);
  return node.set(root(node, sum, *p));
}

constexpr OperatorRow rows[] = {
    {"AveragePool", 1, kNewestOpset, buildAveragePool},
    {"GlobalAveragePool", 1, kNewestOpset, buildGlobalAveragePool},
    {"GlobalLpPool", 1, kNewestOpset, buildGlobalLpPool},
    {"GlobalMaxPool", 1, kNewestOpset, buildGlobalMaxPool},
    {"LpPool", 1, kNewestOpset, buildLpPool},
    {"MaxPool", 1, kNewestOpset, buildMaxPool},
    {"MaxUnpool", 9, kNewestOpset, buildMaxUnpool},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::poolingOperators() { return rows; }
