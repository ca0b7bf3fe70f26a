//===- CanonicalizeSums.cpp - Sums of pads that are concatenations --------===//
//
//   %0 = nn.pad %a low [0, 0] high [0, 5] interior [0, 0]       // 8x3 -> 8x8
//   %1 = nn.pad %b low [0, 3] high [0, 0] interior [0, 0]       // 8x5 -> 8x8
//   %2 = nn.add %0, %1
// becomes
//   %2 = nn.concat %a, %b axis 1
//
// The gradient of a tensor that is read in slices is such a sum: as a concatenation its parts can be computed
// in place.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace zero::nn;

namespace {

/// The one axis along which the op pads with zeros, and only outside; none for other pads.
std::optional<int64_t> getZeroPaddedAxis(PadOp pad) {
  if (!pad.getValue().isZero())
    return std::nullopt;
  std::optional<int64_t> padded;
  for (int64_t axis = 0; axis < static_cast<int64_t>(pad.getLow().size()); ++axis) {
    if (pad.getInterior()[axis] != 0)
      return std::nullopt;
    if (pad.getLow()[axis] == 0 && pad.getHigh()[axis] == 0)
      continue;
    if (padded)
      return std::nullopt;
    padded = axis;
  }
  return padded;
}

struct SumOfPadsToConcat : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp root, PatternRewriter &rewriter) const override {
    SmallVector<PadOp> pads;
    std::optional<int64_t> axis;
    SmallVector<AddOp> sums = {root};
    while (!sums.empty()) {
      AddOp sum = sums.pop_back_val();
      for (Value term : sum->getOperands()) {
        Operation *op = term.getDefiningOp();
        if (!op || !op->hasOneUse())
          return failure();
        if (auto inner = dyn_cast<AddOp>(op)) {
          sums.push_back(inner);
          continue;
        }
        auto pad = dyn_cast<PadOp>(op);
        std::optional<int64_t> padded = pad ? getZeroPaddedAxis(pad) : std::nullopt;
        if (!padded || (axis && axis != padded))
          return failure();
        axis = padded;
        pads.push_back(pad);
      }
    }
    // Each begins where the one before ends: nothing overlaps, nothing is left out.
    llvm::sort(pads, [&](PadOp a, PadOp b) { return a.getLow()[*axis] < b.getLow()[*axis]; });
    int64_t end = 0;
    SmallVector<Value> parts;
    for (PadOp pad : pads) {
      int64_t size = cast<RankedTensorType>(pad.getOperand().getType()).getDimSize(*axis);
      if (pad.getLow()[*axis] != end || ShapedType::isDynamic(size))
        return failure();
      end += size;
      parts.push_back(pad.getOperand());
    }
    if (end != cast<RankedTensorType>(root.getType()).getDimSize(*axis))
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(root, root.getType(), parts, *axis);
    return success();
  }
};

} // namespace

void AddOp::getCanonicalizationPatterns(RewritePatternSet &results, MLIRContext *context) {
  results.add<SumOfPadsToConcat>(context);
}
