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
