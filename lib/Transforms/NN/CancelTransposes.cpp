//===- CancelTransposes.cpp - Transposes with layout-free ops between -----===//
//
//   transpose(add(mul(transpose(x), a), b))  ->  add(mul(x, a'), b')
//
// Exporters move heads outside, rotate queries and keys there, and attention wants them inside again: what
// stands between works in any layout. Only whole trees are rewritten, so that no transpose is ever made.
//
//===----------------------------------------------------------------------===//
#include "LayoutTree.h"
#include "RaisePatterns.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

namespace {

struct CancelTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().hasStaticShape())
      return failure();
    LayoutTree tree(op.getOperand(), op.getPermutation());
    if (tree.getCancelled() == 0 || !tree.isFree(op))
      return failure();
    rewriter.replaceOp(op, tree.build(rewriter));
    return success();
  }
};

} // namespace

void zero::addCancelTransposesPatterns(RewritePatternSet &patterns, RaiseRemarks &) {
  patterns.add<CancelTransposes>(patterns.getContext());
}
