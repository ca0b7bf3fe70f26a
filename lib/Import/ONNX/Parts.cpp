//===- Parts.cpp - Operators that cut out parts of a tensor ---------------===//
#include "Indexing.h"
#include "OperatorTable.h"
#include "Split.h"

#include <numeric>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// The number `size` at run time, 1-d: an element of the shape of x times a factor.
Tensor sizeAtRunTime(NodeContext &node, const Tensor &x, int64_t axis, const Dim &size) {
  if (size.isStatic())
    return node.integers({size.value()});
  Tensor whole = node.slice(node.shapeOf(x), {axis}, {1}, {Dim(1)});
  // size = whole * a / b in numbers
  int64_t a = size.value(), b = x.shape[axis].value(), common = std::gcd(a, b);
  Tensor scaled = node.binary<nn::MulOp>(whole, node.integers({a / common}));
  return node.binary<nn::DivOp>(scaled, node.integers({b / common}));
}

/// `length` elements from `start` of a dimension that is a multiple of a symbol: read by positions, which
/// fold to a slice once the batch is bound. None where they are not known to be such multiples inside it.
std::optional<Tensor> symbolicSlice(NodeContext &node, const Tensor &x, int64_t axis, const Dim &start,
                                    const Dim &end) {
  const Dim &extent = x.shape[axis];
  std::optional<Dim> length = Dim::subtract(end, start), rest = Dim::subtract(extent, end);
  if (!length || !rest || length->isStatic() || length->value() < 0 || rest->value() < 0 || start.value() < 0)
    return std::nullopt;
  auto sizes = [&] { return sizeAtRunTime(node, x, axis, *length); };
  Tensor index = positions(node, Dims{*length}, 0, sizes);
  if (!start.is(0))
    index = node.binary<nn::AddOp>(
        index, node.broadcastTo(node.reshape(sizeAtRunTime(node, x, axis, start), {}), index.shape, sizes));
  Dims shape = x.shape;
  shape[axis] = *length;
  return node.make<nn::GatherOp>(std::move(shape), x.elementType(), x.value, index.value, axis);
}

/// Equal parts, or multiples of the symbol, of a dimension that is a multiple of it.
LogicalResult splitSymbolic(NodeContext &node, const Tensor &x, int64_t axis) {
  std::optional<Dims> sizes;
  int64_t count = static_cast<int64_t>(node.results.size());
  if (node.has(1)) {
    FailureOr<Tensor> given = node.input(1);
    if (failed(given))
      return failure();
    sizes = given->contents;
  } else if (std::optional<Dim> part = Dim::divide(x.shape[axis], Dim(count));
             part && !node.attribute("split")) {
    sizes = Dims(count, *part);
  }
  Dim start(0);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<Dim> end =
        sizes && static_cast<int64_t>(sizes->size()) == count ? Dim::add(start, (*sizes)[i]) : std::nullopt;
    std::optional<Tensor> part = end ? symbolicSlice(node, x, axis, start, *end) : std::nullopt;
    if (!part || (i == count - 1 && *end != x.shape[axis]))
      return node.error() << "splits dimension " << axis << " of " << x.type()
                          << ", whose size is not known, into parts that are no multiples of it";
    if (failed(node.set(std::move(*part), static_cast<unsigned>(i))))
      return failure();
    start = *end;
  }
  return success();
}

/// Sizes are an input since opset 13, an attribute before; else equal parts (the last smaller, since opset
/// 18).
LogicalResult buildSplit(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), x->rank());
  if (failed(axis))
    return failure();
  if (!x->shape[*axis].isStatic())
    return splitSymbolic(node, *x, *axis);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.inputOrAttribute(1, "split");
  if (failed(given))
    return failure();
  int64_t extent = x->shape[*axis].value(), count = static_cast<int64_t>(node.results.size());
  if (node.intAttribute("num_outputs", count) != count)
    return node.error() << "has " << count << " outputs and num_outputs "
                        << node.intAttribute("num_outputs", count);
  SmallVector<int64_t> sizes;
  if (*given) {
    sizes = std::move(**given);
  } else {
    int64_t each = (extent + count - 1) / count;
    if (node.opset < 18 && extent % count != 0)
      return node.error() << "cannot split the " << extent << " elements of dimension " << *axis << " of "
                          << x->type() << " into " << count << " equal parts";
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
  }
  if (static_cast<int64_t>(sizes.size()) != count)
    return node.error() << "has " << count << " outputs and " << sizes.size() << " sizes";
  FailureOr<SmallVector<Tensor, 1>> parts = splitTensor(node, *x, *axis, sizes);
  if (failed(parts))
    return failure();
  for (auto [index, part] : llvm::enumerate(*parts))
    if (failed(node.set(part, index)))
      return failure();
  return success();
}

/// One list of Slice: an input since opset 10, an attribute before.
FailureOr<std::optional<Dims>> sliceList(NodeContext &node, unsigned index, StringRef name) {
  if (node.opset < 10) {
    std::optional<SmallVector<int64_t>> list = node.intsAttribute(name);
    if (!list)
      return std::optional<Dims>();
    return std::optional(Dims(llvm::map_range(*list, [](int64_t n) { return Dim(n); })));
  }
  if (!node.has(index))
    return std::optional<Dims>();
  FailureOr<Tensor> tensor = node.input(index);
  if (failed(tensor))
    return failure();
  if (tensor->contents)
    return tensor->contents;
  FailureOr<SmallVector<int64_t>> elements = node.integerInput(index, name);
  if (failed(elements))
    return failure();
  return std::optional(Dims(elements->begin(), elements->end()));
}

LogicalResult buildSlice(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  // starts, ends, axes, steps
  StringRef names[] = {"starts", "ends", "axes", "steps"};
  std::optional<Dims> lists[4];
  for (unsigned i = 0; i < 4; ++i) {
    FailureOr<std::optional<Dims>> list = sliceList(node, i + 1, names[i]);
    if (failed(list))
      return failure();
    lists[i] = std::move(*list);
  }
  const auto &[starts, ends, axes, steps] = lists;
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size()))
    return node.error() << "needs starts, ends, axes and steps of one length";
  SmallVector<int64_t> from(x->rank(), 0), by(x->rank(), 1);
  Dims shape = x->shape;
  for (size_t i = 0; i < starts->size(); ++i) {
    Dim start = (*starts)[i], end = (*ends)[i], step = steps ? (*steps)[i] : Dim(1);
    Dim given = axes ? (*axes)[i] : Dim(static_cast<int64_t>(i));
    if (!given.isStatic() || !step.isStatic())
      return node.error() << "axes and steps must be constant";
    FailureOr<int64_t> axis = node.axis(given.value(), x->rank());
    if (failed(axis))
      return failure();
    const Dim &extent = x->shape[*axis];
    if (step.is(0) || step.is(INT64_MIN))
      return node.error() << "has step " << step.value();
    if (!extent.isStatic()) {
      // The whole dimension, whatever it is (exporters write INT64_MAX, INT32_MAX or, tf2onnx, 10^9 for its
      // end, and no batch is that large), or multiples of what it is one of.
      constexpr int64_t kWhole = 1000000000;
      if (end.isStatic() && end.value() >= kWhole)
        end = extent;
      bool whole = step.is(1) && start.is(0) && end == extent;
      std::optional<Tensor> part;
      if (!whole && step.is(1))
        part = symbolicSlice(node, *x, *axis, start, end);
      if (part) {
        *x = std::move(*part);
        shape[*axis] = x->shape[*axis];
      } else if (!whole)
        return node.error() << "cuts dimension " << *axis << " of " << x->type()
                            << ", whose size is not known: only the whole of it can be taken";
      continue;
    }
    if (!start.isStatic() || !end.isStatic())
      return node.error() << "starts and ends must be constant";
    // As Python's slices: forwards between 0 and n, backwards between n - 1 and -1.
    int64_t n = extent.value(), s = step.value(), lowest = s > 0 ? 0 : -1, highest = s > 0 ? n : n - 1;
    auto clamp = [&](int64_t index) {
      return std::clamp(index < -n ? lowest : index < 0 ? index + n : index, lowest, highest);
    };
    int64_t first = clamp(start.value()), last = clamp(end.value());
    // Not last - first + s - 1, which may overflow.
    int64_t distance = s > 0 ? last - first : first - last;
    int64_t size = distance <= 0 ? 0 : (distance - 1) / std::abs(s) + 1;
    shape[*axis] = Dim(size);
    from[*axis] = size > 0 ? first : 0;
    by[*axis] = size > 1 ? s : 1;
  }
  if (shape == x->shape && llvm::all_of(by, [](int64_t s) { return s == 1; }))
    return node.set(*x);
  return node.set(node.slice(*x, from, by, std::move(shape)));
}

/// The middle of dimensions that are too long, zeros around those that are too short.
LogicalResult buildCenterCropPad(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  FailureOr<SmallVector<int64_t>> sizes = node.integerInput(1, "shape");
  if (failed(x) || failed(sizes))
    return failure();
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, x->rank()));
  SmallVector<int64_t> given = node.intsAttribute("axes").value_or(all);
  if (given.size() != sizes->size())
    return node.error() << "has " << sizes->size() << " sizes for " << given.size() << " axes";
  Dims cropped = x->shape, padded;
  SmallVector<int64_t> starts(x->rank(), 0), strides(x->rank(), 1), low(x->rank(), 0), high(x->rank(), 0),
      interior(x->rank(), 0);
  for (auto [entry, size] : llvm::zip_equal(given, *sizes)) {
    FailureOr<int64_t> axis = node.axis(entry, x->rank());
    if (failed(axis))
      return failure();
    if (!x->shape[*axis].isStatic() || size < 0)
      return node.error() << "cannot give dimension " << *axis << " of " << x->type() << " the size " << size;
    int64_t have = x->shape[*axis].value(), less = std::max<int64_t>(have - size, 0),
            more = std::max<int64_t>(size - have, 0);
    starts[*axis] = less / 2;
    cropped[*axis] = Dim(have - less);
    low[*axis] = more / 2;
    high[*axis] = more - more / 2;
  }
  Tensor part = cropped == x->shape ? *x : node.slice(*x, starts, strides, cropped);
  for (auto [dim, before, after] : llvm::zip_equal(cropped, low, high))
    padded.push_back(dim.isStatic() ? Dim(dim.value() + before + after) : dim);
  if (padded == cropped)
    return node.set(std::move(part));
  return node.set(node.make<nn::PadOp>(std::move(padded), part.elementType(), part.value, low, high, interior,
                                       APFloat(0.0)));
}

constexpr OperatorRow rows[] = {
    {"CenterCropPad", 18, kNewestOpset, buildCenterCropPad},
    {"Slice", 1, kNewestOpset, buildSlice},
    {"Split", 2, kNewestOpset, buildSplit},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::partOperators() { return rows; }
