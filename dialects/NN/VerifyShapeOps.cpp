//===- VerifyShapeOps.cpp - Verifiers of ops that move or index elements --===//
#include "dialects/NN/NNOps.h"
#include "dialects/NN/Shapes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero::nn;

LogicalResult BroadcastOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (static_cast<int64_t>(getDims().size()) != operand.getRank())
    return emitOpError() << "dims has " << getDims().size() << " entries but the operand has "
                         << operand.getRank() << " dimensions";
  if (failed(verifyIncreasing(*this, "dims", getDims(), result.getRank())) ||
      failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    int64_t from = operand.getDimSize(i), to = result.getDimSize(dim);
    if (from != 1 && !sizesAgree(from, to))
      return emitOpError() << "operand dimension " << i << " has size " << from << " but result dimension "
                           << dim << " has size " << to;
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  if (Value shape = getShape()) {
    int64_t entries = cast<RankedTensorType>(shape.getType()).getDimSize(0);
    if (!sizesAgree(entries, result.getRank()))
      return emitOpError() << "shape operand has " << entries << " entries but the result has "
                           << result.getRank() << " dimensions";
  } else if (getAllowZero()) {
    return emitOpError("has allow_zero but no shape operand");
  }
  if (operand.hasStaticShape() && result.hasStaticShape() &&
      operand.getNumElements() != result.getNumElements())
    return emitOpError() << "operand has " << operand.getNumElements() << " elements but the result has "
                         << result.getNumElements();
  return success();
}

LogicalResult ShapeOfOp::verify() {
  return verifyShape(*this, "result", getType().getShape(), "the operand's dimensions give",
                     {getOperand().getType().getRank()});
}

LogicalResult BroadcastToOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  int64_t entries = cast<RankedTensorType>(getShape().getType()).getDimSize(0);
  int64_t rank = std::max(entries, operand.getRank());
  if (!ShapedType::isDynamic(entries) && result.getRank() != rank)
    return emitOpError() << "result has " << result.getRank() << " dimensions but operand and shape give "
                         << rank;
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  int64_t rank = operand.getRank();
  if (static_cast<int64_t>(getPermutation().size()) != rank)
    return emitOpError() << "permutation has " << getPermutation().size() << " entries but the operand has "
                         << rank << " dimensions";
  SmallVector<bool> seen(rank, false);
  Shape expected;
  for (auto [i, dim] : llvm::enumerate(getPermutation())) {
    if (dim < 0 || dim >= rank)
      return emitOpError() << "permutation[" << i << "] is " << dim << ", outside [0, " << rank << ")";
    if (seen[dim])
      return emitOpError() << "permutation names dimension " << dim << " twice";
    seen[dim] = true;
    expected.push_back(operand.getDimSize(dim));
  }
  if (failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  return verifyShape(*this, "result", result.getShape(), "the permuted operand has", expected);
}

LogicalResult SliceOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  int64_t rank = operand.getRank();
  if (result.getRank() != rank)
    return emitOpError() << "result has " << result.getRank() << " dimensions but the operand has " << rank;
  if (failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  if (static_cast<int64_t>(getStarts().size()) != rank || static_cast<int64_t>(getStrides().size()) != rank)
    return emitOpError() << "starts has " << getStarts().size() << " entries and strides "
                         << getStrides().size() << " but the operand has " << rank << " dimensions";
  for (int64_t i = 0; i < rank; ++i) {
    int64_t start = getStarts()[i], stride = getStrides()[i];
    int64_t size = operand.getDimSize(i), count = result.getDimSize(i);
    if (stride == 0)
      return emitOpError() << "strides[" << i << "] is 0";
    if (start < 0)
      return emitOpError() << "starts[" << i << "] is " << start << ", below 0";
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(count) || count == 0)
      continue;
    int64_t distance, last;
    if (llvm::MulOverflow(count - 1, stride, distance) || llvm::AddOverflow(start, distance, last) ||
        start >= size || last < 0 || last >= size)
      return emitOpError() << "dimension " << i << ": " << count << " elements from " << start
                           << " by stride " << stride << " leave the operand's " << size;
  }
  return success();
}

LogicalResult PadOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  int64_t rank = operand.getRank();
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {
      {"low", getLow()}, {"high", getHigh()}, {"interior", getInterior()}};
  for (auto [name, values] : lists) {
    if (static_cast<int64_t>(values.size()) != rank)
      return emitOpError() << name << " has " << values.size() << " entries but the operand has " << rank
                           << " dimensions";
    for (auto [i, value] : llvm::enumerate(values))
      if (value < 0)
        return emitOpError() << name << "[" << i << "] is " << value << ", below 0";
  }
  if (failed(verifyElementType(*this, "result", result.getElementType(), "the operand",
                               operand.getElementType())))
    return failure();
  double value = getValue().convertToDouble();
  if (auto type = dyn_cast<IntegerType>(result.getElementType())) {
    bool isExact = false;
    APSInt integer(type.getWidth(), type.isUnsigned() || type.getWidth() == 1);
    if (getValue().convertToInteger(integer, APFloat::rmTowardZero, &isExact) != APFloat::opOK || !isExact)
      return emitOpError() << "value " << value << " is no " << type;
  }
  Shape expected;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = operand.getDimSize(i);
    expected.push_back(ShapedType::isDynamic(size) ? ShapedType::kDynamic
                                                   : getLow()[i] + getHigh()[i] + size +
                                                         std::max<int64_t>(size - 1, 0) * getInterior()[i]);
  }
  return verifyShape(*this, "result", result.getShape(), "the padded operand has", expected);
}

LogicalResult ConcatOp::verify() {
  if (getOperands().empty())
    return emitOpError("needs at least 1 operand but has 0");
  RankedTensorType result = getType();
  int64_t axis = getAxis(), rank = result.getRank(), total = 0;
  if (failed(verifyAxis(*this, axis, rank)))
    return failure();
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (failed(verifyElementType(*this, "operand #" + Twine(i), type.getElementType(), "the result",
                                 result.getElementType())))
      return failure();
    if (type.getRank() != rank)
      return emitOpError() << "operand #" << i << " has " << type.getRank()
                           << " dimensions but the result has " << rank;
    Shape expected(result.getShape());
    expected[axis] = type.getDimSize(axis);
    if (failed(verifyShape(*this, "operand #" + Twine(i), type.getShape(), "the result gives", expected)))
      return failure();
    total = ShapedType::isDynamic(total) || type.isDynamicDim(axis) ? ShapedType::kDynamic
                                                                    : total + type.getDimSize(axis);
  }
  if (!sizesAgree(total, result.getDimSize(axis)))
    return emitOpError() << "operands have " << total << " elements along axis " << axis
                         << " but the result has " << result.getDimSize(axis);
  return success();
}

LogicalResult GatherOp::verify() {
  RankedTensorType data = getData().getType(), indices = getIndices().getType(), result = getType();
  if (failed(verifyAxis(*this, getAxis(), data.getRank())) ||
      failed(verifyElementType(*this, "result", result.getElementType(), "data", data.getElementType())))
    return failure();
  return verifyShape(*this, "result", result.getShape(), "data and indices give",
                     gatherShape(data.getShape(), indices.getShape(), getAxis()));
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType updates = getUpdates().getType(), indices = getIndices().getType(), result = getType();
  if (failed(verifyAxis(*this, getAxis(), result.getRank())) ||
      failed(
          verifyElementType(*this, "result", result.getElementType(), "updates", updates.getElementType())))
    return failure();
  return verifyShape(*this, "updates", updates.getShape(), "result and indices give",
                     gatherShape(result.getShape(), indices.getShape(), getAxis()));
}

LogicalResult ScatterOp::verify() {
  RankedTensorType data = getData().getType(), updates = getUpdates().getType(),
                   indices = getIndices().getType();
  if (failed(verifyAxis(*this, getAxis(), data.getRank())) ||
      failed(verifyElementType(*this, "updates", updates.getElementType(), "data", data.getElementType())))
    return failure();
  if (getKind() != ScatterKind::assign && data.getElementType().isInteger(1))
    return emitOpError() << "kind " << stringifyScatterKind(getKind()) << " has no meaning for i1";
  return verifyShape(*this, "updates", updates.getShape(), "data and indices give",
                     gatherShape(data.getShape(), indices.getShape(), getAxis()));
}

LogicalResult TopKOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  int64_t axis = getAxis();
  if (failed(verifyAxis(*this, axis, operand.getRank())))
    return failure();
  if (result.getRank() != operand.getRank())
    return emitOpError() << "result has " << result.getRank() << " dimensions but the operand has "
                         << operand.getRank();
  int64_t k = result.getDimSize(axis), size = operand.getDimSize(axis);
  if (!ShapedType::isDynamic(k) && !ShapedType::isDynamic(size) && k > size)
    return emitOpError() << "result has " << k << " elements along axis " << axis << " but the operand only "
                         << size;
  Shape expected(operand.getShape());
  expected[axis] = k;
  return verifyShape(*this, "result", result.getShape(), "the operand gives", expected);
}

LogicalResult GatherNDOp::verify() {
  RankedTensorType data = getData().getType(), indices = getIndices().getType(), result = getType();
  int64_t batch = getBatchDims();
  if (failed(verifyElementType(*this, "result", result.getElementType(), "data", data.getElementType())))
    return failure();
  int64_t largest = std::min(data.getRank(), indices.getRank()) - 1;
  if (batch < 0 || batch > largest)
    return emitOpError() << "batch_dims is " << batch << ", outside [0, " << largest << "]";
  int64_t tuple = indices.getShape().back();
  if (ShapedType::isDynamic(tuple))
    return emitOpError("indices have a last dimension of unknown size");
  if (tuple < 1 || batch + tuple > data.getRank())
    return emitOpError() << "index tuples have " << tuple << " entries but data has "
                         << data.getRank() - batch << " dimensions to index";
  if (failed(verifyShape(*this, "indices' batch", indices.getShape().take_front(batch), "data's batch is",
                         data.getShape().take_front(batch))))
    return failure();
  Shape expected(indices.getShape().drop_back());
  llvm::append_range(expected, data.getShape().drop_front(batch + tuple));
  return verifyShape(*this, "result", result.getShape(), "data and indices give", expected);
}

LogicalResult IotaOp::verify() { return verifyAxis(*this, getAxis(), getType().getRank()); }
