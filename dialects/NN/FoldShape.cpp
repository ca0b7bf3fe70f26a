//===- FoldShape.cpp - Folders and canonicalisation of ops that move elements -===//
#include "dialects/NN/Constants.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NN/Shapes.h"

using namespace mlir;
using namespace zero::nn;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

/// True where both types are the same and name every size.
static bool isSameStatic(RankedTensorType a, RankedTensorType b) { return a == b && a.hasStaticShape(); }

static bool isIdentity(ArrayRef<int64_t> map) {
  return llvm::all_of(llvm::enumerate(map), [](auto pair) { return pair.value() == int64_t(pair.index()); });
}

/// Calls `visit` with each index of `shape` in row-major order.
static void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (ShapedType::getNumElements(shape) == 0)
    return;
  Shape index(shape.size(), 0);
  for (;;) {
    visit(index);
    int64_t dim = shape.size() - 1;
    for (; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

/// The elements of a constant at other places: `source` maps an index of the result to one of the constant.
static DenseElementsAttr moveElements(Attribute attribute, RankedTensorType type,
                                      llvm::function_ref<void(ArrayRef<int64_t>, Shape &)> source) {
  if (DenseElementsAttr splat = resizeSplat(attribute, type))
    return splat;
  DenseElementsAttr constant = asFoldable(attribute);
  if (!constant || !type.hasStaticShape() || type.getNumElements() > kLargestFoldedConstant)
    return nullptr;
  auto elements = constant.getValues<Attribute>();
  ArrayRef<int64_t> shape = constant.getType().getShape();
  SmallVector<Attribute> values;
  Shape from(shape.size(), 0);
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    source(index, from);
    int64_t flat = 0;
    for (auto [position, size] : llvm::zip_equal(from, shape))
      flat = flat * size + position;
    values.push_back(elements[flat]);
  });
  return DenseElementsAttr::get(type, values);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (isSameStatic(getOperand().getType(), getType()))
    return getOperand();
  // What a group yields is computed there: a constant would be a result that no kernel writes.
  bool isYielded =
      llvm::any_of(getOperation()->getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
  if (DenseElementsAttr splat = resizeSplat(adaptor.getOperand(), getType()); splat && !isYielded)
    return splat;
  auto inner = getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return nullptr;
  Shape dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(getDims()[dim]);
  setDims(dims);
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (isSameStatic(getOperand().getType(), getType()))
    return getOperand();
  if (DenseElementsAttr constant = asFoldable(adaptor.getOperand()); constant && getType().hasStaticShape())
    return constant.isSplat() ? resizeSplat(constant, getType()) : constant.reshape(getType());
  // The type alone must say the shape: a shape operand may refer to the inner result's dimensions.
  auto inner = getOperand().getDefiningOp<ReshapeOp>();
  if (!inner || getShape() || !getType().hasStaticShape())
    return nullptr;
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

namespace {
/// A static result type says the shape; the operand that computed it goes.
struct DropKnownShape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    if (!op.getShape() || !op.getType().hasStaticShape())
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<DropKnownShape>(context);
}

OpFoldResult ShapeOfOp::fold(FoldAdaptor) {
  RankedTensorType operand = getOperand().getType();
  if (!operand.hasStaticShape() || !getType().hasStaticShape())
    return nullptr;
  return DenseElementsAttr::get(getType(), operand.getShape());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()) && getOperand().getType() == getType())
    return getOperand();
  ArrayRef<int64_t> permutation = getPermutation();
  if (DenseElementsAttr moved =
          moveElements(adaptor.getOperand(), getType(), [&](ArrayRef<int64_t> index, Shape &from) {
            for (auto [position, dim] : llvm::zip_equal(index, permutation))
              from[dim] = position;
          }))
    return moved;
  auto inner = getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return nullptr;
  Shape composed;
  for (int64_t dim : permutation)
    composed.push_back(inner.getPermutation()[dim]);
  if (isIdentity(composed) && inner.getOperand().getType() == getType())
    return inner.getOperand();
  setPermutation(composed);
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> starts = getStarts(), strides = getStrides();
  if (isSameStatic(getOperand().getType(), getType()) &&
      llvm::all_of(starts, [](int64_t s) { return s == 0; }) &&
      llvm::all_of(strides, [](int64_t s) { return s == 1; }))
    return getOperand();
  return moveElements(adaptor.getOperand(), getType(), [&](ArrayRef<int64_t> index, Shape &from) {
    for (size_t i = 0; i < index.size(); ++i)
      from[i] = starts[i] + index[i] * strides[i];
  });
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getOperands().size() == 1 && getOperands().front().getType() == getType())
    return getOperands().front();
  if (!getType().hasStaticShape() || getType().getNumElements() > kLargestFoldedConstant)
    return nullptr;
  SmallVector<DenseElementsAttr> constants;
  for (Attribute operand : adaptor.getOperands()) {
    constants.push_back(asFoldable(operand));
    if (!constants.back())
      return nullptr;
  }
  // Row-major: for each index before the axis, each operand gives one contiguous run.
  ArrayRef<int64_t> shape = getType().getShape();
  int64_t outer = ShapedType::getNumElements(shape.take_front(getAxis()));
  SmallVector<Attribute> values;
  for (int64_t row = 0; row < outer; ++row)
    for (DenseElementsAttr constant : constants) {
      int64_t run = constant.getNumElements() / outer;
      auto elements = constant.getValues<Attribute>();
      for (int64_t i = 0; i < run; ++i)
        values.push_back(elements[row * run + i]);
    }
  return DenseElementsAttr::get(getType(), values);
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  if (getAxes().empty() && getOperand().getType() == getType())
    return getOperand();
  RankedTensorType operand = getOperand().getType();
  DenseElementsAttr constant = asFoldable(adaptor.getOperand());
  // The order of float sums is a kernel's own; integers and the largest of equal numbers have none.
  if (!constant || !getType().hasStaticShape() || operand.getNumElements() == 0)
    return nullptr;
  if (constant.isSplat() && (getKind() == ReduceKind::max || getKind() == ReduceKind::min))
    return resizeSplat(constant, getType());
  if (!isa<IntegerType>(operand.getElementType()) || operand.getNumElements() > kLargestFoldedConstant)
    return nullptr;
  bool hasNoSign = isUnsigned(operand.getElementType());
  SmallVector<std::optional<APInt>> results(getType().getNumElements());
  auto elements = constant.getValues<APInt>();
  int64_t flat = 0;
  forEachIndex(operand.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t to = 0;
    for (auto [dim, position] : llvm::enumerate(index))
      if (!llvm::is_contained(getAxes(), static_cast<int64_t>(dim)))
        to = to * operand.getDimSize(dim) + position;
    APInt value = elements[flat++];
    std::optional<APInt> &sum = results[to];
    if (!sum)
      sum = value;
    else if (getKind() == ReduceKind::sum)
      *sum += value;
    else if (getKind() == ReduceKind::prod)
      *sum *= value;
    else if ((getKind() == ReduceKind::max) == (hasNoSign ? value.ugt(*sum) : value.sgt(*sum)))
      sum = value;
  });
  SmallVector<APInt> values;
  for (const std::optional<APInt> &result : results)
    values.push_back(*result);
  return DenseElementsAttr::get(getType(), values);
}
