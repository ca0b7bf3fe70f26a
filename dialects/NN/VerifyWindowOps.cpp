//===- VerifyWindowOps.cpp - Verifiers of convolutions and pooling --------===//
#include "dialects/NN/NNOps.h"
#include "dialects/NN/Shapes.h"
#include "dialects/NN/Windows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero::nn;

std::optional<int64_t> Window::countPositions(int64_t size) const {
  int64_t reach, padded, room;
  if (llvm::MulOverflow(dilation, window - 1, reach) || llvm::AddOverflow(low, high, padded) ||
      llvm::AddOverflow(padded, size, padded) || llvm::SubOverflow(padded, reach, room))
    return std::nullopt;
  return room < 1 ? 0 : (room - 1) / stride + 1;
}

namespace {

/// The sliding of a window: one entry for each spatial dimension.
struct Windows {
  ArrayRef<int64_t> sizes, strides, low, high, dilations;
};

} // namespace

/// Error unless data (N x C x spatial) and `windows` give the positions `result` (N x K x spatial).
static LogicalResult verifyWindows(Operation *op, RankedTensorType data, RankedTensorType result,
                                   const Windows &windows, bool allowNegativePadding) {
  int64_t spatial = data.getRank() - 2;
  if (spatial < 1 || spatial > 3)
    return op->emitOpError() << "data has " << data.getRank() << " dimensions, outside [3, 5]";
  if (result.getRank() != data.getRank())
    return op->emitOpError() << "result has " << result.getRank() << " dimensions but data has "
                             << data.getRank();
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {{"window", windows.sizes},
                                                     {"strides", windows.strides},
                                                     {"low", windows.low},
                                                     {"high", windows.high},
                                                     {"dilations", windows.dilations}};
  for (auto [name, values] : lists) {
    if (static_cast<int64_t>(values.size()) != spatial)
      return op->emitOpError() << name << " has " << values.size() << " entries but data has " << spatial
                               << " spatial dimensions";
    bool isPadding = name == "low" || name == "high";
    int64_t least = isPadding ? (allowNegativePadding ? std::numeric_limits<int64_t>::min() : 0) : 1;
    for (auto [i, value] : llvm::enumerate(values))
      if (value < least && !(name == "window" && ShapedType::isDynamic(value)))
        return op->emitOpError() << name << "[" << i << "] is " << value << ", below " << least;
  }
  Shape expected;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = data.getDimSize(i + 2), window = windows.sizes[i];
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(window)) {
      expected.push_back(ShapedType::kDynamic);
      continue;
    }
    Window one{window, windows.strides[i], windows.low[i], windows.high[i], windows.dilations[i]};
    std::optional<int64_t> positions = one.countPositions(size);
    if (!positions)
      return op->emitOpError() << "spatial dimension " << i << " overflows";
    expected.push_back(*positions);
  }
  return verifyShape(op, "result's spatial part", result.getShape().drop_front(2), "data and window give",
                     expected);
}

/// Error unless `kernel` is K x C/groups x spatial for `data` N x C and `result` N x K.
static LogicalResult verifyConv(Operation *op, RankedTensorType data, RankedTensorType kernel,
                                RankedTensorType result, Windows windows, int64_t groups) {
  for (RankedTensorType type : {kernel, result})
    if (type.getRank() != data.getRank())
      return op->emitOpError() << "data has " << data.getRank() << " dimensions, kernel " << kernel.getRank()
                               << " and result " << result.getRank() << "; they must have equally many";
  if (failed(verifyElementType(op, "kernel", kernel.getElementType(), "data", data.getElementType())) ||
      failed(verifyElementType(op, "result", result.getElementType(), "data", data.getElementType())))
    return failure();
  if (groups < 1)
    return op->emitOpError() << "groups is " << groups << ", below 1";
  int64_t channels = data.getDimSize(1), filters = kernel.getDimSize(0);
  for (auto [what, size] : {std::pair("channels", channels), std::pair("filters", filters)})
    if (!ShapedType::isDynamic(size) && size % groups)
      return op->emitOpError() << size << " " << what << " do not divide into " << groups << " groups";
  if (!ShapedType::isDynamic(channels) && !sizesAgree(kernel.getDimSize(1), channels / groups))
    return op->emitOpError() << "kernel has " << kernel.getDimSize(1) << " channels but data has "
                             << channels << " in " << groups << " groups";
  if (!sizesAgree(result.getDimSize(1), filters))
    return op->emitOpError() << "result has " << result.getDimSize(1) << " channels but the kernel has "
                             << filters << " filters";
  if (!sizesAgree(result.getDimSize(0), data.getDimSize(0)))
    return op->emitOpError() << "result has batch " << result.getDimSize(0) << " but data has "
                             << data.getDimSize(0);
  windows.sizes = kernel.getShape().drop_front(2);
  return verifyWindows(op, data, result, windows, /*allowNegativePadding=*/false);
}

LogicalResult ConvOp::verify() {
  return verifyConv(*this, getLhs().getType(), getRhs().getType(), getType(),
                    {{}, getStrides(), getLow(), getHigh(), getDilations()}, getGroups());
}

LogicalResult ConvTransposeOp::verify() {
  return verifyConv(*this, getType(), getRhs().getType(), getLhs().getType(),
                    {{}, getStrides(), getLow(), getHigh(), getDilations()}, getGroups());
}

LogicalResult ConvWeightGradOp::verify() {
  return verifyConv(*this, getLhs().getType(), getType(), getRhs().getType(),
                    {{}, getStrides(), getLow(), getHigh(), getDilations()}, getGroups());
}

static LogicalResult verifyPool(Operation *op, RankedTensorType data, RankedTensorType result,
                                const Windows &windows, bool allowNegativePadding) {
  if (failed(verifyElementType(op, "result", result.getElementType(), "the operand", data.getElementType())) ||
      failed(verifyWindows(op, data, result, windows, allowNegativePadding)))
    return failure();
  return verifyShape(op, "result's batch and channels", result.getShape().take_front(2), "the operand has",
                     data.getShape().take_front(2));
}

LogicalResult SumPoolOp::verify() {
  return verifyPool(*this, getOperand().getType(), getType(),
                    {getWindow(), getStrides(), getLow(), getHigh(), getDilations()},
                    /*allowNegativePadding=*/true);
}

LogicalResult MaxPoolOp::verify() {
  RankedTensorType data = getOperand().getType(), result = getResult().getType();
  if (failed(verifyPool(*this, data, result,
                        {getWindow(), getStrides(), getLow(), getHigh(), getDilations()},
                        /*allowNegativePadding=*/false)) ||
      failed(verifyShape(*this, "indices", getIndices().getType().getShape(), "the result has",
                         result.getShape())))
    return failure();
  for (size_t i = 0; i < getWindow().size(); ++i) {
    int64_t size = data.getDimSize(i + 2), positions = result.getDimSize(i + 2);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(positions))
      continue;
    int64_t dilation = getDilations()[i], reach = dilation * (getWindow()[i] - 1);
    // Only windows that begin before the data or end behind it can miss them.
    for (int64_t o = 0; o < positions; ++o) {
      int64_t start = o * getStrides()[i] - getLow()[i];
      int64_t first = start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
      if (first > start + reach || first >= size)
        return emitOpError() << "window " << o << " of spatial dimension " << i << " lies outside the data's "
                             << size << " positions";
      if (start >= 0 && start + reach < size)
        o = std::max(o, (size - 1 - reach + getLow()[i]) / getStrides()[i] - 1);
    }
  }
  return success();
}
