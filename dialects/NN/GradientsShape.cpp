//===- GradientsShape.cpp - Gradient rules of shape and indexing ops ------===//
//
// All of them are linear: the gradient is the transposed map.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero::nn;

using Gradients = SmallVector<Value>;

// A value repeated n times receives the sum over the n copies.
Gradients BroadcastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> from = b.shapeOf(getOperand()), to = b.shapeOf(getResult());
  SmallVector<bool> kept(to.size(), false);
  for (auto [i, dim] : llvm::enumerate(getDims()))
    kept[dim] = from[i] == to[dim];
  SmallVector<int64_t> axes;
  for (int64_t i = 0, e = to.size(); i < e; ++i)
    if (!kept[i])
      axes.push_back(i);
  return {b.reshape(b.sum(resultGradients[0], axes), from)};
}

Gradients ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  Gradients gradients(getNumOperands());
  if (needed[0])
    gradients[0] =
        TensorBuilder(builder, getLoc()).reshape(resultGradients[0], TensorBuilder::shapeOf(getOperand()));
  return gradients;
}

// result dimension i is operand dimension p[i]: transpose by the inverse of p.
Gradients TransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, from] : llvm::enumerate(getPermutation()))
    inverse[from] = i;
  return {TensorBuilder(builder, getLoc()).transpose(resultGradients[0], inverse)};
}

// d x[starts + i strides] = g[i], zeros elsewhere: a pad with stride - 1 zeros between neighbours. A
// dimension read backwards is turned round first.
Gradients SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  ArrayRef<int64_t> from = b.shapeOf(getOperand()), to = b.shapeOf(getResult());
  if (b.typeOf(getResult()).getNumElements() == 0)
    return {b.zerosLike(getOperand())};
  SmallVector<int64_t> low, high, interior, turnStarts, turnStrides;
  for (auto [size, count, start, stride] : llvm::zip(from, to, getStarts(), getStrides())) {
    bool backwards = stride < 0;
    int64_t step = backwards ? -stride : stride, first = backwards ? start + (count - 1) * stride : start;
    low.push_back(first);
    high.push_back(size - (first + (count - 1) * step + 1));
    interior.push_back(count > 1 ? step - 1 : 0);
    turnStarts.push_back(backwards ? count - 1 : 0);
    turnStrides.push_back(backwards ? -1 : 1);
  }
  Value g = resultGradients[0];
  if (llvm::is_contained(turnStrides, -1))
    g = SliceOp::create(builder, getLoc(), g.getType(), g, builder.getDenseI64ArrayAttr(turnStarts),
                        builder.getDenseI64ArrayAttr(turnStrides));
  return {PadOp::create(builder, getLoc(), getOperand().getType(), g, builder.getDenseI64ArrayAttr(low),
                        builder.getDenseI64ArrayAttr(high), builder.getDenseI64ArrayAttr(interior),
                        builder.getF64FloatAttr(0.0))};
}

// d x[i] = g[low + i (interior + 1)]
Gradients PadOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  if (b.typeOf(getOperand()).getNumElements() == 0)
    return {b.zerosLike(getOperand())};
  SmallVector<int64_t> strides;
  for (int64_t between : getInterior())
    strides.push_back(between + 1);
  return {SliceOp::create(builder, getLoc(), getOperand().getType(), resultGradients[0], getLowAttr(),
                          builder.getDenseI64ArrayAttr(strides))};
}

// d x_k = the slice of g that x_k was put at
Gradients ConcatOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  TensorBuilder b(builder, getLoc());
  Gradients gradients(getNumOperands());
  SmallVector<int64_t> starts(b.rankOf(getResult()), 0), strides(b.rankOf(getResult()), 1);
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    if (needed[i]) {
      if (b.typeOf(operand).getNumElements() == 0)
        gradients[i] = b.zerosLike(operand);
      else
        gradients[i] =
            SliceOp::create(builder, getLoc(), operand.getType(), resultGradients[0],
                            builder.getDenseI64ArrayAttr(starts), builder.getDenseI64ArrayAttr(strides));
    }
    starts[getAxis()] += b.shapeOf(operand)[getAxis()];
  }
  return gradients;
}

// y[.., i, ..] = x[.., indices[i], ..]: d x = scatter_add(g, indices)
Gradients GatherOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  Gradients gradients(2);
  if (needed[0])
    gradients[0] = ScatterAddOp::create(builder, getLoc(), getData().getType(), resultGradients[0],
                                        getIndices(), getAxis());
  return gradients;
}

// the transpose of a transpose: d updates = gather(g, indices)
Gradients ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  Gradients gradients(2);
  if (needed[0])
    gradients[0] = GatherOp::create(builder, getLoc(), getUpdates().getType(), resultGradients[0],
                                    getIndices(), getAxis());
  return gradients;
}

/// Which updates are the last at their index, in the shape of the updates.
static Value isLastUpdate(TensorBuilder b, ScatterOp op) {
  Value indices = op.getIndices(), updates = op.getUpdates();
  int64_t count = b.typeOf(indices).getNumElements(), axis = op.getAxis();
  Type i64 = b.builder.getI64Type();
  Value flat = b.reshape(indices, {count}), number = b.iota({count}, i64, 0);
  Value last = ScatterOp::create(
      b.builder, b.loc, ScatterKind::assign,
      b.splat(RankedTensorType::get({b.shapeOf(op.getData())[axis]}, i64), 0.0), number, flat, /*axis=*/0);
  Value lastHere = GatherOp::create(b.builder, b.loc, number.getType(), last, flat, /*axis=*/0);
  Value isLast = b.reshape(b.compare(ComparePredicate::eq, lastHere, number), b.shapeOf(indices));
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < b.rankOf(indices); ++i)
    dims.push_back(axis + i);
  return b.broadcast(isLast, dims, b.shapeOf(updates));
}

// assign: d data = g without the elements replaced, d updates = g at the indices, of the last at each
// add:    d data = g, d updates = g at the indices
// mul:    each factor's gradient is g times the product of the others: 0 where one of them is 0
// max, min: g goes to those that equal the result, evenly
Gradients ScatterOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0], data = getData(), updates = getUpdates(), indices = getIndices();
  int64_t axis = getAxis();
  auto gather = [&](Value x) -> Value {
    return GatherOp::create(builder, getLoc(), b.typeOf(x).clone(b.shapeOf(updates)), x, indices, axis);
  };
  auto scatter = [&](ScatterKind kind, Value to, Value from) -> Value {
    return ScatterOp::create(builder, getLoc(), kind, to, from, indices, axis);
  };
  Gradients gradients(3);
  switch (getKind()) {
  case ScatterKind::assign:
    if (needed[0])
      gradients[0] = scatter(ScatterKind::assign, g, b.zerosLike(updates));
    if (needed[1])
      gradients[1] = b.select(isLastUpdate(b, *this), gather(g), b.zerosLike(updates));
    break;
  case ScatterKind::add:
    if (needed[0])
      gradients[0] = g;
    if (needed[1])
      gradients[1] = gather(g);
    break;
  case ScatterKind::mul: {
    if (needed[0])
      gradients[0] = b.mul(g, scatter(ScatterKind::mul, b.splatLike(data, 1.0), updates));
    if (needed[1]) {
      auto zeros = [&](Value x) { return b.cast(b.compare(ComparePredicate::eq, x, 0.0), b.elementOf(x)); };
      auto nonZero = [&](Value x) {
        return b.select(b.compare(ComparePredicate::eq, x, 0.0), b.splatLike(x, 1.0), x);
      };
      Value ownZero = zeros(updates), factor = nonZero(updates);
      Value otherZeros = b.sub(gather(scatter(ScatterKind::add, zeros(data), ownZero)), ownZero);
      Value others = b.div(gather(b.mul(g, scatter(ScatterKind::mul, nonZero(data), factor))), factor);
      gradients[1] = b.select(b.compare(ComparePredicate::eq, otherZeros, 0.0), others, b.zerosLike(updates));
    }
    break;
  }
  case ScatterKind::max:
  case ScatterKind::min: {
    Value fromData = b.cast(b.compare(ComparePredicate::eq, data, getResult()), b.elementOf(data));
    Value fromUpdates = b.cast(b.compare(ComparePredicate::eq, updates, gather(getResult())), b.elementOf(data));
    Value share = b.div(g, scatter(ScatterKind::add, fromData, fromUpdates));
    if (needed[0])
      gradients[0] = b.mul(share, fromData);
    if (needed[1])
      gradients[1] = b.mul(gather(share), fromUpdates);
    break;
  }
  }
  return gradients;
}
