//===- RaiseRotation.cpp - Rotary embeddings as one sum over pairs --------===//
//
//   x * c + concat(-x[h..2h), x[0..h)) * s
// with x as two rows of h elements becomes, for row i of the result,
//   the sum over rows j of x_j * (i == j ? c_i : i == 0 ? -s_i : s_i)
//
// Rotary embeddings (arXiv 2104.09864) turn pairs of elements that lie half a head apart. As slices and a
// concat that is three copies and as many kernels; as a sum over two rows it is one kernel, and so is its
// gradient, the sum over i of the same products. The terms are those of the original, and there are two: no
// bit changes.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "TensorViews.h"

#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

/// The operand of a slice of `size` elements of its last dimension from `start` on, all of the others.
Value sliceOfLast(Value value, int64_t start, int64_t size) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return nullptr;
  ArrayRef<int64_t> from = slice.getOperand().getType().getShape(), to = slice.getType().getShape();
  if (to.drop_back() != from.drop_back() || to.back() != size || slice.getStarts().back() != start ||
      llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
    return nullptr;
  return slice.getOperand();
}

/// x, where `value` is concat(-x[h..2h), x[0..h)) along the last dimension.
Value matchTurned(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  auto type = cast<RankedTensorType>(value.getType());
  if (!concat || concat.getNumOperands() != 2 || static_cast<int64_t>(concat.getAxis()) != type.getRank() - 1)
    return nullptr;
  int64_t half = type.getShape().back() / 2;
  auto negated = concat.getOperand(0).getDefiningOp<NegOp>();
  Value x = negated ? sliceOfLast(negated.getOperand(), half, half) : Value();
  return x && x.getType() == type && sliceOfLast(concat.getOperand(1), 0, half) == x ? x : Value();
}

struct RaiseRotation : OpRewritePattern<AddOp> {
  RaiseRotation(MLIRContext *context, RaiseRemarks &remarks) : OpRewritePattern(context), remarks(remarks) {}

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!isa<FloatType>(type.getElementType()) || !type.hasStaticShape() || type.getRank() < 1)
      return failure();
    for (auto [plain, turned] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto first = plain.getDefiningOp<MulOp>(), second = turned.getDefiningOp<MulOp>();
      if (!first || !second)
        return failure();
      for (auto [part, sine] :
           {std::pair(second.getLhs(), second.getRhs()), std::pair(second.getRhs(), second.getLhs())}) {
        Value x = matchTurned(part);
        if (!x || (first.getLhs() != x && first.getRhs() != x))
          continue;
        Value cosine = first.getLhs() == x ? first.getRhs() : first.getLhs();
        remarks.raised(op.getLoc(), "a rotation of pairs");
        rewriter.replaceOp(op, build(rewriter, op.getLoc(), x, cosine, sine));
        return success();
      }
    }
    return failure();
  }

private:
  static Value build(PatternRewriter &rewriter, Location location, Value x, Value cosine, Value sine) {
    TensorBuilder b(rewriter, location);
    ArrayRef<int64_t> shape = shapeOf(x);
    int64_t i = static_cast<int64_t>(shape.size()) - 1, j = i + 1, half = shape.back() / 2;
    SmallVector<int64_t> rows(shape.drop_back()), pairs(shape.drop_back()), alongI, alongJ;
    rows.append({2, half});
    pairs.append({2, 2, half});
    for (int64_t dim = 0; dim < j + 2; ++dim) {
      if (dim != j)
        alongI.push_back(dim);
      if (dim != i)
        alongJ.push_back(dim);
    }
    auto ofResult = [&](Value value) { return b.broadcast(b.reshape(value, rows), alongI, pairs); };
    Type index = rewriter.getI64Type();
    Value rowI = b.iota(pairs, index, i), rowJ = b.iota(pairs, index, j), s = ofResult(sine);
    Value across = b.select(b.compare(ComparePredicate::eq, rowI, 0.0), b.neg(s), s);
    Value factor = b.select(b.compare(ComparePredicate::eq, rowI, rowJ), ofResult(cosine), across);
    Value wide = b.broadcast(b.reshape(x, rows), alongJ, pairs);
    return b.reshape(b.sum(b.mul(wide, factor), {j}), shape);
  }

  RaiseRemarks &remarks;
};

} // namespace

void zero::addRaiseRotationPatterns(RewritePatternSet &patterns, RaiseRemarks &remarks) {
  patterns.add<RaiseRotation>(patterns.getContext(), remarks);
}
