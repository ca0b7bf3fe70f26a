//===- Quantization.cpp - QuantizeLinear and its inverse ------------------===//
#include "Quantization.h"
#include "Formula.h"
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

LogicalResult zero::onnx_import::checkQuantized(NodeContext &node, Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && (integer.getWidth() == 8 || integer.getWidth() == 16))
    return success();
  return node.error() << "numbers are quantized to int8, uint8, int16 or uint16, not to " << element;
}

Tensor zero::onnx_import::quantizeRounded(NodeContext &node, const Tensor &x, std::optional<Tensor> zero,
                                          Type element) {
  Formula f(node);
  Tensor rounded = node.unary<nn::RoundOp>(x);
  if (rounded.elementType().getIntOrFloatBitWidth() < 32)
    rounded = node.cast(rounded, node.builder.getF32Type());
  if (zero)
    rounded = f.add(rounded, node.cast(*zero, rounded.elementType()));
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  double low = isUnsigned ? 0.0 : static_cast<double>(llvm::minIntN(width));
  double high =
      static_cast<double>(isUnsigned ? llvm::maxUIntN(width) : static_cast<uint64_t>(llvm::maxIntN(width)));
  return node.cast(f.clip(rounded, low, high), element);
}

namespace {

/// A scale or zero point in x's shape: one number, one for each index along `axis`, or one for each block of
/// `blockSize` along it.
FailureOr<Tensor> spread(NodeContext &node, Tensor value, const Tensor &x, int64_t axis, int64_t blockSize,
                         StringRef what) {
  auto refuse = [&]() -> FailureOr<Tensor> {
    node.error() << what << " is a " << value.type() << ", which does not fit the input of type " << x.type()
                 << (blockSize ? " and block_size " + std::to_string(blockSize) : std::string())
                 << " along axis " << axis;
    return failure();
  };
  bool isOne = value.rank() == 0 || (value.rank() == 1 && value.shape[0].is(1));
  if (isOne) {
    if (value.rank())
      value = node.reshape(value, {});
    return node.broadcastTo(value, x.shape, [&] { return node.shapeOf(x); });
  }
  FailureOr<int64_t> normal = node.axis(axis, x.rank());
  if (failed(normal))
    return failure();
  axis = *normal;
  if (!blockSize) {
    if (value.rank() != 1 || !(value.shape[0] == x.shape[axis]))
      return refuse();
    Dims dims(x.rank(), Dim(1));
    dims[axis] = value.shape[0];
    return node.broadcastTo(node.reshape(value, std::move(dims)), x.shape, [&] { return node.shapeOf(x); });
  }
  if (blockSize < 0 || value.rank() != x.rank() || !value.shape[axis].isStatic() || !x.shape[axis].isStatic())
    return refuse();
  int64_t size = x.shape[axis].value(), blocks = value.shape[axis].value();
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != axis && !(value.shape[i] == x.shape[i]))
      return refuse();
  if (blocks != llvm::divideCeilSigned(size, blockSize))
    return refuse();
  // Each number blockSize times along the axis; of the last block what is needed.
  Dims apart = value.shape, repeated, whole = value.shape;
  apart.insert(apart.begin() + axis + 1, Dim(1));
  repeated = apart;
  repeated[axis + 1] = Dim(blockSize);
  whole[axis] = Dim(blocks * blockSize);
  Tensor wide = node.reshape(value, std::move(apart), {x});
  wide = node.broadcastTo(wide, std::move(repeated),
                          [&]() -> Tensor { llvm_unreachable("only known sizes grow"); });
  wide = node.reshape(wide, std::move(whole), {x});
  if (blocks * blockSize == size)
    return wide;
  SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
  return node.slice(wide, starts, strides, x.shape);
}

/// round(x / scale) + zero, cut to the range of `element`.
Tensor quantize(NodeContext &node, const Tensor &x, const Tensor &scale, std::optional<Tensor> zero,
                Type element) {
  return quantizeRounded(node, node.binary<nn::DivOp>(x, scale), std::move(zero), element);
}

LogicalResult buildQuantizeLinear(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), scale = node.floatInput(1);
  if (failed(x) || failed(scale))
    return failure();
  int64_t axis = node.intAttribute("axis", 1), blockSize = node.intAttribute("block_size", 0);
  Type element = node.builder.getIntegerType(8, /*isSigned=*/false);
  if (int64_t type = node.intAttribute("output_dtype", 0)) {
    FailureOr<Type> given = node.elementType(static_cast<int>(type));
    if (failed(given))
      return failure();
    element = *given;
  }
  std::optional<Tensor> zero;
  if (node.has(2)) {
    FailureOr<Tensor> given = node.input(2);
    if (failed(given))
      return failure();
    if (node.intAttribute("output_dtype", 0) && given->elementType() != element)
      return node.error() << "output_dtype is " << element << ", but the zero point is a " << given->type();
    element = given->elementType();
    FailureOr<Tensor> wide = spread(node, *given, *x, axis, blockSize, "the zero point");
    if (failed(wide))
      return failure();
    zero = *wide;
  }
  if (failed(checkQuantized(node, element)))
    return failure();
  // The quotient in the type that `precision` names, else in that of the scale.
  Type compute = scale->elementType();
  if (int64_t type = node.intAttribute("precision", 0)) {
    FailureOr<Type> given = node.elementType(static_cast<int>(type));
    if (failed(given))
      return failure();
    if (!isa<FloatType>(*given))
      return node.error() << "precision is " << *given << ", not a float";
    compute = *given;
  }
  FailureOr<Tensor> wide = spread(node, node.cast(*scale, compute), *x, axis, blockSize, "the scale");
  if (failed(wide))
    return failure();
  return node.set(quantize(node, node.cast(*x, compute), *wide, zero, element));
}

/// (x - zero) * scale
LogicalResult buildDequantizeLinear(NodeContext &node) {
  FailureOr<Tensor> x = node.input(0), scale = node.floatInput(1);
  if (failed(x) || failed(scale))
    return failure();
  if (isa<FloatType>(x->elementType()) || x->elementType().isInteger(1))
    return node.error() << "needs integers, not " << x->type();
  int64_t axis = node.intAttribute("axis", 1), blockSize = node.intAttribute("block_size", 0);
  Type element = scale->elementType(), compute = element;
  if (int64_t type = node.intAttribute("output_dtype", 0)) {
    FailureOr<Type> given = node.elementType(static_cast<int>(type));
    if (failed(given))
      return failure();
    element = *given;
  }
  if (compute.getIntOrFloatBitWidth() < 32)
    compute = node.builder.getF32Type();
  Tensor number = node.cast(*x, compute);
  if (node.has(2)) {
    FailureOr<Tensor> given = node.input(2);
    if (failed(given))
      return failure();
    if (given->elementType() != x->elementType())
      return node.error() << "the zero point is a " << given->type() << ", the input a " << x->type();
    FailureOr<Tensor> zero = spread(node, *given, *x, axis, blockSize, "the zero point");
    if (failed(zero))
      return failure();
    number = node.binary<nn::SubOp>(number, node.cast(*zero, compute));
  }
  FailureOr<Tensor> wide = spread(node, node.cast(*scale, compute), *x, axis, blockSize, "the scale");
  if (failed(wide))
    return failure();
  return node.set(node.cast(node.binary<nn::MulOp>(number, *wide), element));
}

/// To uint8 by the range of all elements and 0.
LogicalResult buildDynamicQuantizeLinear(NodeContext &node) {
  FailureOr<Tensor> x = node.floatInput(0);
  if (failed(x))
    return failure();
  Formula f(node);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x->rank()));
  Tensor largest = node.reduce(nn::ReduceKind::max, *x, axes, /*keepDims=*/false),
         smallest = node.reduce(nn::ReduceKind::min, *x, axes, /*keepDims=*/false);
  largest = f.binary<nn::MaxOp>(largest, f.like(largest, 0.0));
  smallest = f.binary<nn::MinOp>(smallest, f.like(smallest, 0.0));
  Tensor range = f.sub(largest, smallest);
  range = f.select(f.compare(nn::ComparePredicate::eq, range, 0.0), f.like(range, 1.0), range);
  Tensor scale = f.div(range, 255.0);
  Tensor zero = node.unary<nn::RoundOp>(f.clip(f.div(f.neg(smallest), scale), 0.0, 255.0));
  Type element = node.builder.getIntegerType(8, /*isSigned=*/false);
  auto toShape = [&](const Tensor &scalar) {
    return node.broadcastTo(scalar, x->shape, [&] { return node.shapeOf(*x); });
  };
  Tensor y = quantize(node, *x, toShape(scale), toShape(zero), element);
  if (failed(node.set(std::move(y))) || failed(node.set(std::move(scale), 1)))
    return failure();
  return node.set(node.cast(zero, element), 2);
}

constexpr OperatorRow rows[] = {
    {"DequantizeLinear", 10, kNewestOpset, buildDequantizeLinear},
    {"DynamicQuantizeLinear", 11, kNewestOpset, buildDynamicQuantizeLinear},
    {"QuantizeLinear", 10, kNewestOpset, buildQuantizeLinear},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::quantizationOperators() { return rows; }
