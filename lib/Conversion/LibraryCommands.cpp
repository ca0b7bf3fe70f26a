//===- LibraryCommands.cpp - Dispatches of the library's kernels ----------===//
//
// The integers and reals of each kernel are those of include/zero/Runtime/Kernels/KernelTable.inc, in its
// order.
//
//===----------------------------------------------------------------------===//
#include "SectionCommands.h"
#include "zero/Analysis/ElementTypes.h"

using namespace mlir;

namespace zero::conversion {

static RankedTensorType getType(Value value) { return cast<RankedTensorType>(value.getType()); }
static int64_t getBytesOfElement(Value value) { return getElementBytes(getType(value).getElementType()); }

int64_t getElementCode(Type type) {
  std::optional<int64_t> number = getElementNumber(type);
  assert(number && "element types of nn tensors all have a number");
  return *number;
}

SmallVector<int64_t> SectionCommands::getProductIntegers(Value lhs, Value rhs, Value out, bool transposeLhs, bool transposeRhs) const {
  auto layoutOf = [&](Value value) {
    Shape shape = getType(value).getShape();
    Strides strides = placement.getStrides(value);
    // What follows a product may see it in more dimensions than it has.
    if (value == out && shape.size() > getType(lhs).getShape().size()) {
      const int64_t rows = countElements(shape.drop_back()), matrix[] = {rows, shape.back()};
      return *getMatrixLayout(matrix, *reshapeStrides(shape, strides, matrix));
    }
    return *getMatrixLayout(shape, strides);
  };
  MatrixLayout left = layoutOf(lhs), right = layoutOf(rhs), result = layoutOf(out);
  Shape lhsShape = getType(lhs).getShape(), rhsShape = getType(rhs).getShape();
  const int64_t m = transposeLhs ? lhsShape.back() : lhsShape[lhsShape.size() - 2], k = transposeLhs ? lhsShape[lhsShape.size() - 2] : lhsShape.back(),
                n = transposeRhs ? rhsShape[rhsShape.size() - 2] : rhsShape.back();
  return {getElementCode(getType(out).getElementType()), countElements(lhsShape.drop_back(2)), m, n, k, transposeLhs != left.exchanged,
          transposeRhs != right.exchanged, left.batchStride, left.rowStride, right.batchStride, right.rowStride, result.batchStride, result.rowStride};
}

void SectionCommands::emit(nn::MatmulOp op) {
  SmallVector<int64_t> integers = getProductIntegers(op.getLhs(), op.getRhs(), op.getResult(), op.getTransposeLhs(), op.getTransposeRhs());
  dispatch(op, "matmul", integers);
}

void SectionCommands::emit(nn::GroupOp op, const FusedProduct &product) {
  SmallVector<int64_t> integers = getProductIntegers(product.lhs, product.rhs, product.out, product.transposeLhs, product.transposeRhs);
  const int64_t n = integers[3];
  const bool storesBefore = bool(product.beforeOut);
  integers.append({product.addend ? n : 0, bool(product.bias), static_cast<int64_t>(product.activation), storesBefore || product.before ? n : 0,
                   static_cast<int64_t>(product.biasGradientOf)});
  SmallVector<Attribute> reads, writes;
  for (Value value : {product.lhs, product.rhs, product.addend, product.bias, product.before})
    if (value)
      reads.push_back(getSlice(value));
  for (OpResult result : {product.out, product.beforeOut, product.biasGradient})
    if (result)
      writes.push_back(getSlice(result));
  if (int64_t bytes = plan.getWorkspaceBytes("fused_matmul", integers))
    writes.push_back(plan.getSlice(placement.makePlace(bytes, zero::plan::ContentClass::workspace, op, ".workspace")));
  dispatch(op, "fused_matmul", reads, writes, integers);
}

void SectionCommands::emit(nn::GatherOp op) {
  Shape data = getType(op.getData()).getShape();
  int64_t axis = op.getAxis();
  dispatch(op, "gather",
           {getBytesOfElement(op.getData()), getElementCode(getType(op.getIndices()).getElementType()),
            countElements(data.take_front(axis)), data[axis], countElements(data.drop_front(axis + 1)),
            getType(op.getIndices()).getNumElements()});
}

void SectionCommands::emit(nn::ScatterAddOp op) {
  Shape out = getType(op.getResult()).getShape();
  int64_t axis = op.getAxis();
  dispatch(op, "scatter_add",
           {getElementCode(getType(op.getResult()).getElementType()),
            getElementCode(getType(op.getIndices()).getElementType()), countElements(out.take_front(axis)),
            out[axis], countElements(out.drop_front(axis + 1)), getType(op.getIndices()).getNumElements()});
}

void SectionCommands::emit(nn::ScatterOp op) {
  Shape data = getType(op.getData()).getShape();
  int64_t axis = op.getAxis();
  dispatch(op, "scatter",
           {static_cast<int64_t>(op.getKind()), getElementCode(getType(op.getData()).getElementType()),
            getElementCode(getType(op.getIndices()).getElementType()), countElements(data.take_front(axis)),
            data[axis], countElements(data.drop_front(axis + 1)), getType(op.getIndices()).getNumElements()});
}

void SectionCommands::emit(nn::TopKOp op) {
  Shape shape = getType(op.getOperand()).getShape();
  int64_t axis = op.getAxis();
  dispatch(op, "top_k",
           {getElementCode(getType(op.getOperand()).getElementType()), countElements(shape.take_front(axis)),
            shape[axis], countElements(shape.drop_front(axis + 1)), getType(op.getResult()).getDimSize(axis),
            op.getSmallest()});
}

void SectionCommands::emit(nn::CumSumOp op) {
  Shape shape = getType(op.getOperand()).getShape();
  int64_t axis = op.getAxis();
  dispatch(op, "cumsum",
           {getElementCode(getType(op.getOperand()).getElementType()), countElements(shape.take_front(axis)),
            shape[axis], countElements(shape.drop_front(axis + 1)), op.getExclusive(), op.getReverse()});
}

/// Batch, position and head strides of a B x T x H x D tensor.
void SectionCommands::addHeadStrides(SmallVectorImpl<int64_t> &integers, Value value) const {
  Strides strides = placement.getStrides(value);
  integers.append(strides.begin(), strides.begin() + 3);
}

template <typename AttentionLike> static SmallVector<int64_t> getAttentionIntegers(AttentionLike op) {
  Shape query = getType(op.getQuery()).getShape(), key = getType(op.getKey()).getShape();
  int64_t maskBatch = 0, maskHeads = 0;
  if (op.getMask()) {
    maskBatch = getType(op.getMask()).getDimSize(0);
    maskHeads = getType(op.getMask()).getDimSize(1);
  }
  return {getElementCode(getType(op.getQuery()).getElementType()),
          query[0],
          query[1],
          key[1],
          query[2],
          key[2],
          query[3],
          op.getCausal(),
          op.getMask() ? 1 : 0,
          maskBatch,
          maskHeads};
}

void SectionCommands::emit(nn::AttentionOp op) {
  SmallVector<int64_t> integers = getAttentionIntegers(op);
  for (Value value : {op.getQuery(), op.getKey(), op.getValue(), op.getResult()})
    addHeadStrides(integers, value);
  dispatch(op, "attention", integers, {op.getScale().convertToDouble()});
}

void SectionCommands::emit(nn::AttentionGradOp op) {
  SmallVector<int64_t> integers = getAttentionIntegers(op);
  for (Value value : {op.getQuery(), op.getKey(), op.getValue(), op.getResult(), op.getResultGradient(),
                      op.getQueryGradient(), op.getKeyGradient(), op.getValueGradient()})
    addHeadStrides(integers, value);
  dispatch(op, "attention_grad", integers, {op.getScale().convertToDouble()});
}

/// Element, leading sizes and how the window slides over `spatial`.
template <typename WindowOp>
static SmallVector<int64_t> getWindowIntegers(WindowOp op, Type element, ArrayRef<int64_t> leading,
                                              Shape spatial, Shape window) {
  SmallVector<int64_t> integers = {getElementCode(element)};
  llvm::append_range(integers, leading);
  integers.push_back(spatial.size());
  for (ArrayRef<int64_t> list :
       {spatial, window, op.getStrides(), op.getLow(), op.getHigh(), op.getDilations()})
    llvm::append_range(integers, list);
  return integers;
}

template <typename ConvLike>
static SmallVector<int64_t> getConvIntegers(ConvLike op, Value data, Value kernel) {
  Shape of = getType(data).getShape(), by = getType(kernel).getShape();
  return getWindowIntegers(op, getType(data).getElementType(),
                           {of[0], of[1], by[0], static_cast<int64_t>(op.getGroups())}, of.drop_front(2),
                           by.drop_front(2));
}

void SectionCommands::emit(nn::ConvOp op) {
  dispatch(op, "conv", getConvIntegers(op, op.getLhs(), op.getRhs()));
}

void SectionCommands::emit(nn::ConvTransposeOp op) {
  dispatch(op, "conv_transpose", getConvIntegers(op, op.getResult(), op.getRhs()));
}

void SectionCommands::emit(nn::ConvWeightGradOp op) {
  dispatch(op, "conv_weight_grad", getConvIntegers(op, op.getLhs(), op.getResult()));
}

template <typename PoolOp> static SmallVector<int64_t> getPoolIntegers(PoolOp op) {
  Shape of = getType(op.getOperand()).getShape();
  return getWindowIntegers(op, getType(op.getOperand()).getElementType(), {of[0] * of[1]}, of.drop_front(2),
                           op.getWindow());
}

void SectionCommands::emit(nn::MaxPoolOp op) { dispatch(op, "max_pool", getPoolIntegers(op)); }

void SectionCommands::emit(nn::SumPoolOp op) { dispatch(op, "sum_pool", getPoolIntegers(op)); }

void SectionCommands::emit(sharding::SumSquaresOp op) {
  SmallVector<int64_t> integers;
  for (Value gradient : op.getGradients()) {
    Type element = plan.getElement(gradient.getType());
    if (integers.empty())
      integers.push_back(getElementCode(element));
    integers.push_back(plan.getBytes(gradient.getType()) / getElementBytes(element));
  }
  dispatch(op, "sum_squares", integers);
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

/// The part of `place` from the first to the last element that a copy touches; `offset` counts from there then.
static Place trim(Place place, int64_t &offset, Shape sizes, ArrayRef<int64_t> strides, int64_t elementBytes) {
  int64_t first = offset, last = offset;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    if (size == 0)
      return place;
    (stride < 0 ? first : last) += (size - 1) * stride;
  }
  place.offset += first * elementBytes;
  place.bytes = (last - first + 1) * elementBytes;
  offset -= first;
  return place;
}

void SectionCommands::emitStridedCopy(Operation *op, Shape sizes, int64_t elementBytes, const Place &source,
                                      int64_t sourceOffset, Strides sourceStrides, const Place &target,
                                      int64_t targetOffset, Strides targetStrides) {
  // Dimensions that lie as one on both sides are one.
  Strides shape, from, to;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size == 1)
      continue;
    if (!shape.empty() && from.back() == size * sourceStrides[i] && to.back() == size * targetStrides[i]) {
      shape.back() *= size;
      from.back() = sourceStrides[i];
      to.back() = targetStrides[i];
      continue;
    }
    shape.push_back(size);
    from.push_back(sourceStrides[i]);
    to.push_back(targetStrides[i]);
  }
  Attribute read = plan.getSlice(trim(source, sourceOffset, shape, from, elementBytes));
  Attribute write = plan.getSlice(trim(target, targetOffset, shape, to, elementBytes));
  SmallVector<int64_t> integers = {elementBytes, static_cast<int64_t>(shape.size())};
  integers.append(shape.begin(), shape.end());
  integers.push_back(sourceOffset);
  integers.append(from.begin(), from.end());
  integers.push_back(targetOffset);
  integers.append(to.begin(), to.end());
  dispatch(op, "strided_copy", {read}, {write}, integers);
}

void SectionCommands::emit(nn::SliceOp op) {
  Strides operand = placement.getStrides(op.getOperand()), steps;
  int64_t offset = 0;
  for (auto [i, stride] : llvm::enumerate(operand)) {
    offset += op.getStarts()[i] * stride;
    steps.push_back(op.getStrides()[i] * stride);
  }
  emitStridedCopy(op, getType(op.getResult()).getShape(), getBytesOfElement(op.getOperand()),
                  placement.getPlace(op.getOperand()), offset, steps, placement.getPlace(op.getResult()), 0,
                  placement.getStrides(op.getResult()));
}

void SectionCommands::emit(nn::TransposeOp op) {
  Strides operand = placement.getStrides(op.getOperand()), steps;
  for (int64_t dimension : op.getPermutation())
    steps.push_back(operand[dimension]);
  emitStridedCopy(op, getType(op.getResult()).getShape(), getBytesOfElement(op.getOperand()),
                  placement.getPlace(op.getOperand()), 0, steps, placement.getPlace(op.getResult()), 0,
                  placement.getStrides(op.getResult()));
}

void SectionCommands::emit(nn::ConcatOp op) {
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    Place source = placement.getPlace(operand), target = placement.getDestination(op, index);
    if (source == target)
      continue;
    Shape shape = getType(operand).getShape();
    emitStridedCopy(op, shape, getBytesOfElement(operand), source, 0, placement.getStrides(operand), target,
                    0, target.strides.empty() ? getDenseStrides(shape) : target.strides);
  }
}

/// The bits of an element.
static APInt bitsOf(Attribute element) {
  if (auto number = dyn_cast<FloatAttr>(element))
    return number.getValue().bitcastToAPInt();
  return cast<IntegerAttr>(element).getValue();
}

void SectionCommands::emitFill(Operation *op, RankedTensorType type, Attribute element) {
  Attribute write = getSlice(op->getResult(0));
  dispatch(op, "fill", {}, {write},
           {getElementBytes(type.getElementType()), type.getNumElements(),
            static_cast<int64_t>(bitsOf(element).getZExtValue())});
}

void SectionCommands::emit(nn::PadOp op) {
  RankedTensorType type = getType(op.getResult());
  // The number as nn.cast would convert it.
  Type element = type.getElementType();
  Attribute value;
  if (auto floatType = dyn_cast<FloatType>(element)) {
    value = FloatAttr::get(floatType, op.getValue().convertToDouble());
  } else {
    APSInt number(element.getIntOrFloatBitWidth(), element.isUnsignedInteger() || element.isInteger(1));
    bool isExact;
    op.getValue().convertToInteger(number, APFloat::rmTowardZero, &isExact);
    value = IntegerAttr::get(element, number);
  }
  emitFill(op, type, value);
  Strides strides = getDenseStrides(type.getShape()), steps;
  int64_t offset = 0;
  for (auto [i, stride] : llvm::enumerate(strides)) {
    offset += op.getLow()[i] * stride;
    steps.push_back((op.getInterior()[i] + 1) * stride);
  }
  emitStridedCopy(op, getType(op.getOperand()).getShape(), getBytesOfElement(op.getOperand()),
                  placement.getPlace(op.getOperand()), 0, placement.getStrides(op.getOperand()),
                  placement.getPlace(op.getResult()), offset, steps);
}

void SectionCommands::emit(nn::ConstantOp op) {
  emitFill(op, cast<RankedTensorType>(op.getType()),
           cast<DenseElementsAttr>(op.getValue()).getSplatValue<Attribute>());
}

} // namespace zero::conversion
