//===- TensorBuilder.cpp - Builds nn ops and infers their types -----------===//
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero::nn;

RankedTensorType TensorBuilder::typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Type TensorBuilder::computeElement(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

Value TensorBuilder::splat(RankedTensorType type, double value) {
  DenseElementsAttr attr;
  if (type.getNumElements() == 0) {
    attr = DenseElementsAttr::get(type, ArrayRef<Attribute>());
  } else if (auto floatType = dyn_cast<FloatType>(type.getElementType())) {
    attr = DenseElementsAttr::get(type, ArrayRef<Attribute>(builder.getFloatAttr(floatType, value)));
  } else {
    auto integerType = cast<IntegerType>(type.getElementType());
    APInt bits(64, static_cast<uint64_t>(static_cast<int64_t>(value)), true);
    attr = DenseElementsAttr::get(type, bits.trunc(integerType.getWidth()));
  }
  return ConstantOp::create(builder, loc, type, attr);
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, Type element, int64_t axis) {
  return IotaOp::create(builder, loc, RankedTensorType::get(shape, element), axis);
}

Value TensorBuilder::compare(ComparePredicate predicate, Value x, Value y) {
  return CompareOp::create(builder, loc, RankedTensorType::get(shapeOf(x), builder.getI1Type()), predicate, x,
                           y);
}

Value TensorBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, onTrue.getType(), condition, onTrue, onFalse);
}

Value TensorBuilder::cast(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return CastOp::create(builder, loc, RankedTensorType::get(shapeOf(x), element), x);
}

Value TensorBuilder::broadcast(Value x, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return BroadcastOp::create(builder, loc, RankedTensorType::get(shape, elementOf(x)), x,
                             builder.getDenseI64ArrayAttr(dims));
}

Value TensorBuilder::broadcastAlong(Value x, ArrayRef<int64_t> axes, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0, e = shape.size(); i < e; ++i)
    if (!llvm::is_contained(axes, i))
      dims.push_back(i);
  if (axes.empty())
    return x;
  return BroadcastOp::create(builder, loc, RankedTensorType::get(shape, elementOf(x)), x,
                             builder.getDenseI64ArrayAttr(dims));
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return ReshapeOp::create(builder, loc, RankedTensorType::get(shape, elementOf(x)), x);
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t from : permutation)
    shape.push_back(shapeOf(x)[from]);
  return TransposeOp::create(builder, loc, RankedTensorType::get(shape, elementOf(x)), x,
                             builder.getDenseI64ArrayAttr(permutation));
}

Value TensorBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return x;
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(shapeOf(x)))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      shape.push_back(size);
  return ReduceOp::create(builder, loc, RankedTensorType::get(shape, elementOf(x)), kind, x,
                          builder.getDenseI64ArrayAttr(axes));
}

Value TensorBuilder::sumAll(Value x) { return sum(x, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)))); }

Value TensorBuilder::wideLabels(Value labels) {
  return elementOf(labels).getIntOrFloatBitWidth() < 32 ? cast(labels, builder.getI32Type()) : labels;
}

Value TensorBuilder::matmul(Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  SmallVector<int64_t> shape(shapeOf(lhs));
  int64_t rank = rankOf(lhs);
  shape[rank - 2] = shapeOf(lhs)[transposeLhs ? rank - 1 : rank - 2];
  shape[rank - 1] = shapeOf(rhs)[transposeRhs ? rank - 2 : rank - 1];
  return MatmulOp::create(builder, loc, RankedTensorType::get(shape, elementOf(lhs)), lhs, rhs, transposeLhs,
                          transposeRhs);
}
