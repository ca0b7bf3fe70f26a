//===- GraphBuilder.cpp - Builds nn ops and tracks symbolic shapes --------===//
//
// Dimensions that are the same for every batch are known to be (Dim.h), so most shapes need no arithmetic at
// run time: a result type with one `?` says it. Where a size cannot be said by the type alone, it is an
// operand made of `nn.shape_of`, which nn-bind-batch evaluates.
//
//===----------------------------------------------------------------------===//
#include "Importer.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

RankedTensorType GraphBuilder::tensorType(ArrayRef<Dim> shape, Type element) const {
  SmallVector<int64_t> sizes;
  for (const Dim &dim : shape)
    sizes.push_back(dim.typeSize());
  return RankedTensorType::get(sizes, element);
}

void GraphBuilder::noteSize(RankedTensorType type) {
  // A size of 0 hides no other: their product is what loops and offsets are computed from.
  int64_t elements = 1;
  bool fits = type.getRank() <= kMaxRank;
  for (int64_t size : type.getShape())
    fits = fits && !llvm::MulOverflow(elements, ShapedType::isDynamic(size) || size == 0 ? 1 : size, elements) &&
           elements <= kMaxElements;
  if (!fits && !excess)
    excess = type;
}

Tensor GraphBuilder::constant(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  Tensor result;
  result.value = nn::ConstantOp::create(builder, location, type, value);
  for (int64_t size : type.getShape())
    result.shape.push_back(Dim(size));
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  constexpr int64_t kListed = 1024;
  noteSize(type);
  if (integer && integer.isSignless() && integer.getWidth() > 1 && type.getRank() <= 1 && !excess &&
      type.getNumElements() <= kListed)
    result.contents.emplace(
        llvm::map_range(value.getValues<APInt>(), [](APInt n) { return Dim(n.getSExtValue()); }));
  return result;
}

Tensor GraphBuilder::integers(ArrayRef<int64_t> elements, bool scalar) {
  SmallVector<int64_t, 1> shape;
  if (!scalar)
    shape.push_back(static_cast<int64_t>(elements.size()));
  return constant(DenseElementsAttr::get(RankedTensorType::get(shape, builder.getI64Type()), elements));
}

Tensor GraphBuilder::splat(double number, Type element, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  if (isa<FloatType>(element))
    return constant(DenseElementsAttr::get(type, builder.getFloatAttr(element, number)));
  if (element.isInteger(1))
    return constant(DenseElementsAttr::get(type, number != 0));
  return constant(
      DenseElementsAttr::get(type, builder.getIntegerAttr(element, static_cast<int64_t>(number))));
}

Tensor GraphBuilder::shapeOf(const Tensor &x) {
  if (llvm::all_of(x.shape, [](const Dim &dim) { return dim.isStatic(); }))
    return integers(llvm::map_to_vector(x.shape, [](const Dim &dim) { return dim.value(); }));
  Tensor result = make<nn::ShapeOfOp>({Dim(x.rank())}, builder.getI64Type(), x.value);
  result.contents = x.shape;
  return result;
}

Tensor GraphBuilder::reshape(const Tensor &x, Dims shape, ArrayRef<Tensor> sources) {
  if (x.shape == shape)
    return x;
  std::optional<Dims> contents;
  if (x.contents && shape.size() <= 1)
    contents = x.contents;
  Tensor result;
  if (llvm::count_if(shape, [](const Dim &dim) { return !dim.isStatic(); }) <= 1) {
    result = make<nn::ReshapeOp>(std::move(shape), x.elementType(), x.value, Value(), false);
  } else {
    SmallVector<Tensor> candidates(sources), parts;
    candidates.push_back(x);
    [[maybe_unused]] bool remains = false; // at most one part is what the others leave
    for (const Dim &dim : shape) {
      std::optional<Tensor> part;
      if (dim.isStatic())
        part = integers({dim.value()});
      for (const Tensor &source : candidates) {
        auto found = llvm::find(source.shape, dim);
        if (!part && found != source.shape.end())
          part = slice(shapeOf(source), {found - source.shape.begin()}, {1}, {Dim(1)});
      }
      assert((part || !remains) && "a shape with two unknown dimensions needs an operand that says them");
      remains |= !part;
      parts.push_back(part ? *part : integers({-1}));
    }
    result = reshapeTo(x, concat(parts, 0), std::move(shape), /*allowZero=*/true);
  }
  result.contents = std::move(contents);
  return result;
}

Tensor GraphBuilder::reshapeTo(const Tensor &x, const Tensor &shape, Dims result, bool allowZero) {
  return make<nn::ReshapeOp>(std::move(result), x.elementType(), x.value, shape.value, allowZero);
}

Tensor GraphBuilder::transpose(const Tensor &x, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return x;
  Dims shape = llvm::map_to_vector(permutation, [&](int64_t axis) { return x.shape[axis]; });
  return make<nn::TransposeOp>(std::move(shape), x.elementType(), x.value, permutation);
}

Tensor GraphBuilder::cast(const Tensor &x, Type element) {
  if (x.elementType() == element)
    return x;
  DenseElementsAttr value;
  Tensor result = make<nn::CastOp>(x.shape, element, x.value);
  if (!matchPattern(x.value, m_Constant(&value)) || value.getNumElements() > 16)
    return result;
  SmallVector<OpFoldResult> folded;
  auto constant = succeeded(result.value.getDefiningOp()->fold(folded)) && !folded.empty()
                      ? dyn_cast_or_null<DenseElementsAttr>(dyn_cast<Attribute>(folded.front()))
                      : DenseElementsAttr();
  if (!constant)
    return result;
  result.value.getDefiningOp()->erase();
  return this->constant(constant);
}

Tensor GraphBuilder::slice(const Tensor &x, ArrayRef<int64_t> starts, ArrayRef<int64_t> strides, Dims shape) {
  Tensor result = make<nn::SliceOp>(shape, x.elementType(), x.value, starts, strides);
  if (x.contents && x.rank() == 1) {
    result.contents.emplace();
    for (int64_t i = 0; i < shape[0].value(); ++i)
      result.contents->push_back((*x.contents)[starts[0] + i * strides[0]]);
  }
  return result;
}

Tensor GraphBuilder::concat(ArrayRef<Tensor> parts, int64_t axis) {
  if (parts.size() == 1)
    return parts.front();
  Dims shape = parts.front().shape;
  bool known =
      llvm::all_of(parts, [](const Tensor &part) { return part.rank() == 1 && part.contents.has_value(); });
  Dims contents;
  std::optional<Dim> size = Dim(0);
  SmallVector<Value> values;
  for (const Tensor &part : parts) {
    size = size ? Dim::add(*size, part.shape[axis]) : std::nullopt;
    values.push_back(part.value);
    if (known)
      contents.append(*part.contents);
  }
  shape[axis] = size.value_or(freshDim());
  Tensor result = make<nn::ConcatOp>(std::move(shape), parts.front().elementType(), values, axis);
  if (known)
    result.contents = std::move(contents);
  return result;
}

Tensor GraphBuilder::reduce(nn::ReduceKind kind, const Tensor &x, ArrayRef<int64_t> axes, bool keepDims) {
  Dims reduced, kept;
  for (auto [index, dim] : llvm::enumerate(x.shape)) {
    bool vanishes = llvm::is_contained(axes, static_cast<int64_t>(index));
    if (!vanishes)
      reduced.push_back(dim);
    kept.push_back(vanishes ? Dim(1) : dim);
  }
  Tensor result =
      axes.empty() ? x : make<nn::ReduceOp>(std::move(reduced), x.elementType(), kind, x.value, axes);
  return keepDims ? reshape(result, std::move(kept)) : result;
}

Dim GraphBuilder::extent(const Tensor &x, int64_t begin, int64_t end) {
  std::optional<Dim> product = Dim::product(ArrayRef(x.shape).slice(begin, end - begin));
  return product ? *product : freshDim();
}

FailureOr<Dims> GraphBuilder::broadcastShape(ArrayRef<Dim> a, ArrayRef<Dim> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Dims result(a);
  size_t offset = a.size() - b.size();
  for (auto [index, dim] : llvm::enumerate(b)) {
    Dim &other = result[offset + index];
    if (other == dim || dim.is(1))
      continue;
    if (other.is(1))
      other = dim;
    else if (dim.isStatic() && other.isStatic())
      return failure();
    else if (!dim.isStatic() && !other.isStatic())
      other = freshDim();
    else if (dim.isStatic())
      other = dim; // the symbol is 1 or this
  }
  return result;
}

Tensor GraphBuilder::broadcastTo(const Tensor &x, Dims result, llvm::function_ref<Tensor()> shape) {
  if (x.shape == result)
    return x;
  size_t offset = result.size() - x.shape.size();
  bool typeSaysIt = true;
  SmallVector<int64_t> dims;
  for (auto [index, dim] : llvm::enumerate(result)) {
    if (index >= offset)
      dims.push_back(static_cast<int64_t>(index));
    bool same = index >= offset && x.shape[index - offset] == dim;
    bool grows = index < offset || x.shape[index - offset].is(1);
    typeSaysIt &= same || (grows && dim.isStatic());
  }
  if (typeSaysIt)
    return make<nn::BroadcastOp>(std::move(result), x.elementType(), x.value, dims);
  // Without a shape the result is static, and a symbol of x is 1 or the size there.
  Tensor target =
      shape ? shape() : integers(llvm::map_to_vector(result, [](const Dim &dim) { return dim.value(); }));
  return make<nn::BroadcastToOp>(std::move(result), x.elementType(), x.value, target.value);
}

LogicalResult GraphBuilder::broadcast(MutableArrayRef<Tensor> tensors) {
  Dims shape = tensors.front().shape;
  for (const Tensor &tensor : tensors.drop_front()) {
    FailureOr<Dims> joined = broadcastShape(shape, tensor.shape);
    if (failed(joined))
      return error() << "shapes do not fit: " << tensorType(shape, tensors.front().elementType()) << " and "
                     << tensor.type();
    shape = std::move(*joined);
  }
  // A tensor that has the shape already says it for all; else each in turn is broadcast against the others.
  const Tensor *whole = llvm::find_if(tensors, [&](const Tensor &tensor) { return tensor.shape == shape; });
  SmallVector<Tensor> originals(tensors);
  std::optional<Tensor> common;
  auto target = [&]() -> Tensor {
    if (common)
      return *common;
    if (whole != tensors.end()) {
      common = shapeOf(originals[whole - tensors.begin()]);
      return *common;
    }
    // The shape that all of them make together: a zero-cost tensor broadcast through every shape in turn.
    Tensor probe = originals.front();
    for (const Tensor &other : ArrayRef(originals).drop_front()) {
      FailureOr<Dims> joined = broadcastShape(probe.shape, other.shape);
      probe = make<nn::BroadcastToOp>(*joined, probe.elementType(), probe.value, shapeOf(other).value);
    }
    common = shapeOf(probe);
    return *common;
  };
  for (Tensor &tensor : tensors)
    tensor = broadcastTo(tensor, shape, target);
  return success();
}

std::optional<double> GraphBuilder::scalarConstant(const Tensor &x) {
  DenseElementsAttr value;
  if (!matchPattern(x.value, m_Constant(&value)) || !(value.isSplat() || value.getNumElements() == 1))
    return std::nullopt;
  auto attribute = *value.getValues<Attribute>().begin();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(attribute)) {
    bool hasNoSign = number.getType().isUnsignedInteger() || number.getType().isInteger(1);
    return hasNoSign ? static_cast<double>(number.getValue().getZExtValue())
                     : static_cast<double>(number.getValue().getSExtValue());
  }
  return std::nullopt;
}
