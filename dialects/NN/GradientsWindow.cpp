//===- GradientsWindow.cpp - Gradient rules of convolutions and pooling ---===//
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero::nn;

using Gradients = SmallVector<Value>;

// conv(x, w), conv_transpose(y, w) and conv_weight_grad(x, y) are the partial derivatives of one trilinear
// form sum y conv(x, w): the gradient of each by an operand is the one that leaves this operand out.
template <typename OpTy, typename ConvLike>
static Value derivative(OpBuilder &builder, ConvLike op, Value like, Value lhs, Value rhs) {
  return OpTy::create(builder, op.getLoc(), like.getType(), lhs, rhs, op.getStridesAttr(), op.getLowAttr(),
                      op.getHighAttr(), op.getDilationsAttr(), op.getGroupsAttr());
}

// d x = conv_transpose(g, w), d w = conv_weight_grad(x, g)
Gradients ConvOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  Value x = getLhs(), w = getRhs(), g = resultGradients[0];
  return {needed[0] ? derivative<ConvTransposeOp>(builder, *this, x, g, w) : Value(),
          needed[1] ? derivative<ConvWeightGradOp>(builder, *this, w, x, g) : Value()};
}

// d y = conv(g, w), d w = conv_weight_grad(g, y)
Gradients ConvTransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                         ArrayRef<bool> needed) {
  Value y = getLhs(), w = getRhs(), g = resultGradients[0];
  return {needed[0] ? derivative<ConvOp>(builder, *this, y, g, w) : Value(),
          needed[1] ? derivative<ConvWeightGradOp>(builder, *this, w, g, y) : Value()};
}

// d x = conv_transpose(y, g), d y = conv(x, g)
Gradients ConvWeightGradOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                          ArrayRef<bool> needed) {
  Value x = getLhs(), y = getRhs(), g = resultGradients[0];
  return {needed[0] ? derivative<ConvTransposeOp>(builder, *this, x, y, g) : Value(),
          needed[1] ? derivative<ConvOp>(builder, *this, y, x, g) : Value()};
}

// d x = g added at the indices, which count within one N and C
Gradients MaxPoolOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  Value g = resultGradients[0];
  if (!needed[0] || !g)
    return {Value()};
  TensorBuilder b(builder, getLoc());
  RankedTensorType data = b.typeOf(getOperand()), result = b.typeOf(getResult());
  if (data.getNumElements() == 0)
    return {b.zerosLike(getOperand())};
  int64_t planes = data.getDimSize(0) * data.getDimSize(1);
  int64_t positions = result.getNumElements() / planes, size = data.getNumElements() / planes;
  Type i64 = builder.getI64Type();
  Value plane = b.iota({planes, positions}, i64, 0);
  Value flat = b.add(b.mul(plane, size), b.reshape(getIndices(), {planes, positions}));
  Value sum = ScatterAddOp::create(builder, getLoc(), data.clone({data.getNumElements()}),
                                   b.reshape(g, {result.getNumElements()}),
                                   b.reshape(flat, {result.getNumElements()}), /*axis=*/0);
  return {b.reshape(sum, data.getShape())};
}

/// Whether the windows lie side by side from the first position on.
static bool tile(SumPoolOp op) {
  auto isZero = [](int64_t value) { return value == 0; };
  return op.getWindow() == op.getStrides() && llvm::all_of(op.getLow(), isZero) &&
         llvm::all_of(op.getHigh(), isZero) &&
         llvm::all_of(op.getDilations(), [](int64_t dilation) { return dilation == 1; });
}

/// d x_j = the g of the only window that reads j, 0 where none does.
static Value spreadOverTiles(TensorBuilder &b, SumPoolOp op, Value g) {
  RankedTensorType data = b.typeOf(op.getOperand());
  SmallVector<int64_t> apart(b.shapeOf(g).take_front(2)), wide = apart, joined = apart, dims{0, 1};
  SmallVector<int64_t> zeros(data.getRank(), 0), rest(data.getRank(), 0);
  for (auto [i, window] : llvm::enumerate(op.getWindow())) {
    int64_t positions = b.shapeOf(g)[i + 2];
    dims.push_back(apart.size());
    apart.append({positions, 1});
    dims.push_back(dims.back() + 1);
    wide.append({positions, window});
    joined.push_back(positions * window);
    rest[i + 2] = data.getDimSize(i + 2) - joined.back();
  }
  Value spread = b.reshape(b.broadcast(b.reshape(g, apart), dims, wide), joined);
  if (b.shapeOf(spread) == data.getShape())
    return spread;
  return PadOp::create(b.builder, b.loc, data, spread, b.builder.getDenseI64ArrayAttr(zeros),
                       b.builder.getDenseI64ArrayAttr(rest), b.builder.getDenseI64ArrayAttr(zeros),
                       b.builder.getF64FloatAttr(0.0));
}

// d x_j = sum of g_o over the windows o that read j: positions o = (j + low - k dilation) / stride that are
// whole. With stride - 1 zeros between the elements of g this is a sum over a window again, read backwards.
Gradients SumPoolOp::buildGradient(OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed) {
  if (!needed[0])
    return {Value()};
  TensorBuilder b(builder, getLoc());
  Value g = resultGradients[0];
  RankedTensorType data = b.typeOf(getOperand()), result = b.typeOf(g);
  if (data.getNumElements() == 0 || result.getNumElements() == 0)
    return {b.zerosLike(getOperand())};
  if (tile(*this))
    return {spreadOverTiles(b, *this, g)};
  SmallVector<int64_t> zeros(data.getRank(), 0), between(data.getRank(), 0), spread(result.getShape());
  SmallVector<int64_t> ones(getWindow().size(), 1), low, high;
  for (auto [i, window] : llvm::enumerate(getWindow())) {
    int64_t stride = getStrides()[i], reach = getDilations()[i] * (window - 1);
    between[i + 2] = stride - 1;
    spread[i + 2] = (result.getDimSize(i + 2) - 1) * stride + 1;
    low.push_back(reach - getLow()[i]);
    high.push_back(data.getDimSize(i + 2) + reach - spread[i + 2] - low.back());
  }
  Value wide = PadOp::create(builder, getLoc(), result.clone(spread), g, builder.getDenseI64ArrayAttr(zeros),
                             builder.getDenseI64ArrayAttr(zeros), builder.getDenseI64ArrayAttr(between),
                             builder.getF64FloatAttr(0.0));
  return {SumPoolOp::create(builder, getLoc(), data, wide, getWindowAttr(),
                            builder.getDenseI64ArrayAttr(ones), builder.getDenseI64ArrayAttr(low),
                            builder.getDenseI64ArrayAttr(high), getDilationsAttr())};
}
