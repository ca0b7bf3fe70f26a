//===- Shape.cpp - Operators that move elements or speak about shapes -----===//
#include "Indexing.h"
#include "OperatorTable.h"
#include "Split.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

FailureOr<SmallVector<Tensor, 1>> zero::onnx_import::splitTensor(NodeContext &node, const Tensor &x,
                                                                 int64_t axis, ArrayRef<int64_t> sizes) {
  int64_t total = 0;
  bool valid = true;
  for (int64_t size : sizes)
    valid = valid && size >= 0 && !llvm::AddOverflow(total, size, total);
  if (!valid || !x.shape[axis].is(total)) {
    node.error() << "parts of " << total << " elements together do not make up dimension " << axis << " of "
                 << x.type();
    return failure();
  }
  SmallVector<Tensor, 1> parts;
  SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
  for (int64_t size : sizes) {
    Dims shape = x.shape;
    shape[axis] = Dim(size);
    parts.push_back(node.slice(x, starts, strides, std::move(shape)));
    starts[axis] += size;
  }
  return parts;
}

FailureOr<Tensor> zero::onnx_import::joinTensors(NodeContext &node, ArrayRef<Tensor> parts, int64_t axis) {
  const Tensor &first = parts.front();
  for (const Tensor &part : parts) {
    bool fits = part.rank() == first.rank() && part.elementType() == first.elementType();
    for (int64_t i = 0; fits && i < part.rank(); ++i)
      fits = i == axis || !part.shape[i].isStatic() || !first.shape[i].isStatic() ||
             part.shape[i] == first.shape[i];
    if (!fits) {
      node.error() << "joins " << first.type() << " and " << part.type() << " along dimension " << axis;
      return failure();
    }
  }
  return node.concat(parts, axis);
}

namespace {

/// [start, end) of the shape (attributes since opset 15).
LogicalResult buildShape(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  int64_t rank = x->rank();
  auto clamp = [rank](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  int64_t start = clamp(node.intAttribute("start", 0)), end = clamp(node.intAttribute("end", rank));
  Tensor whole = node.shapeOf(*x);
  if (start == 0 && end == rank)
    return node.set(std::move(whole));
  return node.set(node.slice(whole, {start}, {1}, {Dim(std::max<int64_t>(0, end - start))}));
}

LogicalResult buildSize(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  Tensor size = node.reduce(nn::ReduceKind::prod, node.shapeOf(*x), {0}, /*keepDims=*/false);
  if (std::optional<Dim> product = Dim::product(x->shape))
    size.contents = Dims{*product};
  return node.set(std::move(size));
}

/// -1: what remains; 0: the operand's dimension, unless `allowzero`.
LogicalResult buildReshape(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), shape = node.shapeInput(1);
  if (failed(x) || failed(shape))
    return failure();
  bool allowZero = node.intAttribute("allowzero", 0) != 0;
  Dims result;
  if (!shape->contents) {
    for (int64_t i = 0; i < shape->shape[0].value(); ++i)
      result.push_back(node.freshDim());
    return node.set(node.reshapeTo(*x, *shape, std::move(result), allowZero));
  }
  std::optional<size_t> rest;
  for (auto [index, dim] : llvm::enumerate(*shape->contents)) {
    if (dim.is(0) && !allowZero) {
      if (static_cast<int64_t>(index) >= x->rank())
        return node.error() << "dimension " << index << " is to be copied from " << x->type();
      result.push_back(x->shape[index]);
      continue;
    }
    if (dim.is(-1)) {
      if (rest)
        return node.error() << "has -1 twice in its shape";
      rest = index;
    } else if (dim.isStatic() && dim.value() < 0) {
      return node.error() << "has the size " << dim.value() << " in its shape";
    }
    result.push_back(dim);
  }
  std::optional<Dim> have = Dim::product(x->shape), want;
  if (rest) {
    Dims others = result;
    others.erase(others.begin() + *rest);
    std::optional<Dim> divisor = Dim::product(others);
    std::optional<Dim> quotient = have && divisor ? Dim::divide(*have, *divisor) : std::nullopt;
    if (!quotient && have && divisor && have->isStatic() && divisor->isStatic())
      return node.error() << "cannot give " << have->value() << " elements of " << x->type()
                          << " a shape in multiples of " << divisor->value();
    result[*rest] = quotient.value_or(node.freshDim());
  } else if (have && have->isStatic() && (want = Dim::product(result)) && want->isStatic() &&
             *want != *have) {
    return node.error() << "cannot give " << have->value() << " elements of " << x->type() << " a shape of "
                        << want->value();
  }
  if (llvm::count_if(result, [](const Dim &dim) { return !dim.isStatic(); }) > 1 && result != x->shape)
    return node.set(node.reshapeTo(*x, *shape, std::move(result), allowZero));
  return node.set(node.reshape(*x, std::move(result)));
}

LogicalResult buildFlatten(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  int64_t axis = node.intAttribute("axis", 1), rank = x->rank();
  if (axis < -rank || axis > rank)
    return node.error() << "axis " << axis << " is outside a tensor of rank " << rank;
  axis += axis < 0 ? rank : 0;
  return node.set(node.reshape(*x, {node.extent(*x, 0, axis), node.extent(*x, axis, rank)}));
}

LogicalResult buildSqueeze(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.inputOrAttribute(1, "axes");
  if (failed(x) || failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    FailureOr<SmallVector<int64_t>> normal = node.axes(**given, x->rank());
    if (failed(normal))
      return failure();
    axes = std::move(*normal);
  } else {
    for (auto [index, dim] : llvm::enumerate(x->shape)) {
      if (!dim.isStatic())
        return node.error() << "without axes cannot tell whether dimension " << index << " of " << x->type()
                            << " is 1";
      if (dim.is(1))
        axes.push_back(static_cast<int64_t>(index));
    }
  }
  Dims shape;
  for (auto [index, dim] : llvm::enumerate(x->shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(index)))
      shape.push_back(dim);
    else if (dim.isStatic() && !dim.is(1))
      return node.error() << "squeezes dimension " << index << " of " << x->type() << ", which is not 1";
  }
  return node.set(node.reshape(*x, std::move(shape)));
}

LogicalResult buildUnsqueeze(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.inputOrAttribute(1, "axes");
  if (failed(x) || failed(given))
    return failure();
  if (!*given)
    return node.error() << "needs axes";
  FailureOr<SmallVector<int64_t>> axes =
      node.axes(**given, x->rank() + static_cast<int64_t>((*given)->size()));
  if (failed(axes))
    return failure();
  Dims shape = x->shape;
  for (int64_t axis : *axes) // ascending
    shape.insert(shape.begin() + axis, Dim(1));
  return node.set(node.reshape(*x, std::move(shape)));
}

LogicalResult buildTranspose(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  SmallVector<int64_t> permutation;
  if (std::optional<SmallVector<int64_t>> given = node.intsAttribute("perm"))
    permutation = std::move(*given);
  else
    permutation = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, x->rank())));
  FailureOr<SmallVector<int64_t>> all = node.axes(permutation, x->rank());
  if (failed(all))
    return failure();
  if (static_cast<int64_t>(all->size()) != x->rank())
    return node.error() << "permutes " << all->size() << " dimensions of " << x->type();
  return node.set(node.transpose(*x, permutation));
}

LogicalResult buildConcat(NodeContext &node) {
  SmallVector<Tensor> parts;
  for (unsigned i = 0; i < node.inputs.size(); ++i) {
    FailureOr<Tensor> part = node.input(i);
    if (failed(part))
      return failure();
    parts.push_back(std::move(*part));
  }
  if (parts.empty())
    return node.error() << "has no input";
  FailureOr<int64_t> axis = node.axis(node.intAttribute("axis", 0), parts.front().rank());
  if (failed(axis))
    return failure();
  FailureOr<Tensor> joined = joinTensors(node, parts, *axis);
  return failed(joined) ? failure() : node.set(std::move(*joined));
}

LogicalResult buildExpand(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), shape = node.sizesInput(1);
  if (failed(x) || failed(shape))
    return failure();
  Dims target;
  if (shape->contents)
    target = *shape->contents;
  else
    for (int64_t i = 0; i < shape->shape[0].value(); ++i)
      target.push_back(node.freshDim());
  FailureOr<Dims> result = node.broadcastShape(x->shape, target);
  if (failed(result))
    return node.error() << "cannot expand " << x->type() << " to "
                        << node.tensorType(target, x->elementType());
  return node.set(node.broadcastTo(*x, std::move(*result), [&] { return *shape; }));
}

/// The repeats, which may be the batch; numbers where a reshape could not tell the sizes of two dimensions.
FailureOr<Dims> tileRepeats(NodeContext &node, const Tensor &x) {
  FailureOr<Tensor> list = node.input(1);
  if (failed(list))
    return failure();
  if (list->contents && list->contents->size() == x.shape.size()) {
    int64_t unknown = 0;
    for (auto [dim, count] : llvm::zip_equal(x.shape, *list->contents))
      unknown += !count.is(1) && !(dim.isStatic() && count.isStatic());
    if (unknown <= 1)
      return *list->contents;
  }
  FailureOr<SmallVector<int64_t>> numbers = node.integerInput(1, "repeats");
  if (failed(numbers))
    return failure();
  return Dims(numbers->begin(), numbers->end());
}

/// Every dimension gets a partner in front of it that repeats it.
LogicalResult buildTile(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  FailureOr<Dims> repeats = tileRepeats(node, *x);
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != x->rank() ||
      llvm::any_of(*repeats, [](const Dim &count) { return !count.isNonNegative(); }))
    return node.error() << "needs one repeat for each dimension of " << x->type();
  Dims apart, repeated, joined;
  SmallVector<Tensor> sizes;
  for (auto [index, dim, count] : llvm::enumerate(x->shape, *repeats)) {
    auto part = [&](const Tensor &all, const Dim &size) {
      return size.isStatic() ? node.integers({size.value()})
                             : node.slice(all, {static_cast<int64_t>(index)}, {1}, {Dim(1)});
    };
    if (!count.is(1)) {
      apart.push_back(Dim(1));
      repeated.push_back(count);
      sizes.push_back(part(*node.input(1), count));
    }
    apart.push_back(dim);
    repeated.push_back(dim);
    sizes.push_back(part(node.shapeOf(*x), dim));
    joined.push_back(Dim::multiply(dim, count).value_or(node.freshDim()));
  }
  Tensor wide =
      node.broadcastTo(node.reshape(*x, apart, {*x}), repeated, [&] { return node.concat(sizes, 0); });
  return node.set(node.reshape(wide, std::move(joined), {*x}));
}

/// The lower (or upper) triangle of the last two dimensions; zeros elsewhere.
LogicalResult buildTrilu(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0);
  if (failed(x))
    return failure();
  int64_t k = 0, rank = x->rank();
  if (node.has(1)) {
    FailureOr<int64_t> given = node.integer(1, "k");
    if (failed(given))
      return failure();
    k = *given;
  }
  if (rank < 2)
    return node.error() << "needs matrices, not " << x->type();
  bool upper = node.intAttribute("upper", 1) != 0;
  Dims matrix(ArrayRef(x->shape).take_back(2));
  auto sizes = [&] { return node.slice(node.shapeOf(*x), {rank - 2}, {1}, {Dim(2)}); };
  Tensor row = positions(node, matrix, 0, sizes), column = positions(node, matrix, 1, sizes);
  constexpr int64_t kFar = int64_t(1) << 40; // beyond every row and column
  if (k)
    row = node.binary<nn::AddOp>(
        row, node.broadcastTo(node.integers({std::clamp(k, -kFar, kFar)}, /*scalar=*/true), matrix, sizes));
  Tensor keep = node.make<nn::CompareOp>(matrix, node.builder.getI1Type(),
                                         upper ? nn::ComparePredicate::ge : nn::ComparePredicate::le,
                                         column.value, row.value);
  auto shape = [&] { return node.shapeOf(*x); };
  Tensor condition = node.broadcastTo(keep, x->shape, shape);
  Tensor zero = node.broadcastTo(node.splat(0, x->elementType()), x->shape, shape);
  return node.set(node.make<nn::SelectOp>(x->shape, x->elementType(), condition.value, x->value, zero.value));
}

constexpr OperatorRow rows[] = {
    {"Concat", 4, kNewestOpset, buildConcat},   {"Expand", 8, kNewestOpset, buildExpand},
    {"Flatten", 1, kNewestOpset, buildFlatten}, {"Reshape", 5, kNewestOpset, buildReshape},
    {"Shape", 1, kNewestOpset, buildShape},
    {"Size", 1, kNewestOpset, buildSize},       {"Squeeze", 1, kNewestOpset, buildSqueeze},
    {"Tile", 6, kNewestOpset, buildTile},       {"Transpose", 1, kNewestOpset, buildTranspose},
    {"Trilu", 14, kNewestOpset, buildTrilu},    {"Unsqueeze", 1, kNewestOpset, buildUnsqueeze},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::shapeOperators() { return rows; }
