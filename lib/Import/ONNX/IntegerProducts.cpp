//===- IntegerProducts.cpp - Products and convolutions of quantized numbers ---===//
//
// Sums of products of integers of 16 bits or fewer are exact in f64.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "Convolution.h"
#include "Formula.h"
#include "OperatorTable.h"
#include "Quantization.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// How a list of numbers lies in the tensor that it belongs to: along the rows of a left matrix, the columns
/// of a right one, or the first dimension of a kernel.
enum class Along { Rows, Columns, First };

/// The list with dimensions of 1 behind it, so that it broadcasts; other tensors as they are.
Tensor place(NodeContext &node, const Tensor &list, const Tensor &whole, Along along) {
  if (list.rank() != 1 || along == Along::Columns)
    return list;
  Dims shape = {list.shape[0]};
  shape.resize(along == Along::Rows ? 2 : whole.rank(), Dim(1));
  return node.reshape(list, std::move(shape));
}

/// Input `index` minus its zero point, in f64.
FailureOr<Tensor> centred(NodeContext &node, unsigned index, unsigned zeroIndex, Along along) {
  FailureOr<Tensor> x = node.input(index);
  if (failed(x) || failed(checkQuantized(node, x->elementType())))
    return failure();
  Tensor wide = node.cast(*x, node.builder.getF64Type());
  if (!node.has(zeroIndex))
    return wide;
  FailureOr<Tensor> zero = node.input(zeroIndex);
  if (failed(zero))
    return failure();
  if (zero->elementType() != x->elementType()) {
    node.error() << "a zero point is a " << zero->type() << ", its numbers are a " << x->type();
    return failure();
  }
  Tensor pair[] = {wide, node.cast(place(node, *zero, *x, along), wide.elementType())};
  if (failed(node.broadcast(pair)))
    return failure();
  return node.binary<nn::SubOp>(pair[0], pair[1]);
}

LogicalResult buildMatMulInteger(NodeContext &node) {
  FailureOr<Tensor> a = centred(node, 0, 2, Along::Rows);
  if (failed(a))
    return failure();
  FailureOr<Tensor> b = centred(node, 1, 3, Along::Columns);
  if (failed(b))
    return failure();
  FailureOr<Tensor> product = matrixProduct(node, *a, *b);
  return failed(product) ? failure() : node.set(node.cast(*product, node.builder.getI32Type()));
}

LogicalResult buildConvInteger(NodeContext &node) {
  FailureOr<Tensor> x = centred(node, 0, 2, Along::First);
  if (failed(x))
    return failure();
  FailureOr<Tensor> w = centred(node, 1, 3, Along::First);
  if (failed(w))
    return failure();
  FailureOr<Tensor> result = convolution(node, *x, *w);
  return failed(result) ? failure() : node.set(node.cast(*result, node.builder.getI32Type()));
}

/// Exact sums times lhsScale rhsScale / scale, rounded to the type of the zero point (input `zeroIndex`).
LogicalResult requantize(NodeContext &node, const Tensor &sums, const Tensor &lhsScale,
                         const Tensor &rhsScale, unsigned scaleIndex, unsigned zeroIndex) {
  FailureOr<Tensor> scale = node.floatInput(scaleIndex), zero = node.input(zeroIndex);
  if (failed(scale) || failed(zero) || failed(checkQuantized(node, zero->elementType())))
    return failure();
  Type f64 = sums.elementType(), element = zero->elementType();
  Tensor factors[] = {node.cast(lhsScale, f64), node.cast(rhsScale, f64), node.cast(*scale, f64)};
  if (failed(node.broadcast(factors)))
    return failure();
  Formula f(node);
  Tensor all[] = {sums, f.div(f.mul(factors[0], factors[1]), factors[2]), *zero};
  if (failed(node.broadcast(all)))
    return failure();
  return node.set(quantizeRounded(node, f.mul(all[0], all[1]), all[2], element));
}

LogicalResult buildQLinearMatMul(NodeContext &node) {
  FailureOr<Tensor> a = centred(node, 0, 2, Along::Rows);
  if (failed(a))
    return failure();
  FailureOr<Tensor> b = centred(node, 3, 5, Along::Columns);
  if (failed(b))
    return failure();
  FailureOr<Tensor> aScale = node.floatInput(1), bScale = node.floatInput(4);
  if (failed(aScale) || failed(bScale))
    return failure();
  FailureOr<Tensor> product = matrixProduct(node, *a, *b);
  if (failed(product))
    return failure();
  return requantize(node, *product, place(node, *aScale, *a, Along::Rows), *bScale, 6, 7);
}

LogicalResult buildQLinearConv(NodeContext &node) {
  FailureOr<Tensor> x = centred(node, 0, 2, Along::First);
  if (failed(x))
    return failure();
  FailureOr<Tensor> w = centred(node, 3, 5, Along::First);
  if (failed(w))
    return failure();
  FailureOr<Tensor> xScale = node.floatInput(1), wScale = node.floatInput(4);
  if (failed(xScale) || failed(wScale))
    return failure();
  FailureOr<Tensor> sums = convolution(node, *x, *w);
  if (failed(sums))
    return failure();
  // One number for each channel of the result, behind the batch.
  auto alongResult = [&](const Tensor &list) {
    if (list.rank() != 1)
      return list;
    Dims shape = {list.shape[0]};
    shape.resize(sums->rank() - 1, Dim(1));
    return node.reshape(list, std::move(shape));
  };
  if (node.has(8)) {
    FailureOr<Tensor> bias = node.input(8);
    if (failed(bias))
      return failure();
    Tensor pair[] = {*sums, node.cast(alongResult(*bias), sums->elementType())};
    if (failed(node.broadcast(pair)))
      return failure();
    sums = node.binary<nn::AddOp>(pair[0], pair[1]);
  }
  return requantize(node, *sums, *xScale, alongResult(*wScale), 6, 7);
}

constexpr OperatorRow rows[] = {
    {"ConvInteger", 10, kNewestOpset, buildConvInteger},
    {"MatMulInteger", 10, kNewestOpset, buildMatMulInteger},
    {"QLinearConv", 10, kNewestOpset, buildQLinearConv},
    {"QLinearMatMul", 10, kNewestOpset, buildQLinearMatMul},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::integerProductOperators() { return rows; }
