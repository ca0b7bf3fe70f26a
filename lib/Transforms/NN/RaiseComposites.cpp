//===- RaiseComposites.cpp - nn-raise-composites --------------------------===//
//
//   %s = nn.matmul %q, %k transpose_rhs : tensor<8x4x64x16xf32>, tensor<8x4x64x16xf32> ->
//   tensor<8x4x64x64xf32> %p = nn.softmax %s axis 3 : tensor<8x4x64x64xf32> %o = nn.matmul %p, %v :
//   tensor<8x4x64x64xf32>, tensor<8x4x64x16xf32> -> tensor<8x4x64x16xf32>
// becomes, with %q, %k and %v transposed to batch x time x heads x size (which cancels the transposes
// around),
//   %o, %l = nn.attention %q, %k, %v scale 1.0 : tensor<8x64x4x16xf32>, tensor<8x64x4x16xf32>,
//   tensor<8x64x4x16xf32>
//       -> tensor<8x64x4x16xf32>, tensor<8x4x64xf32>
// Test: test/Transforms/NN/raise-composites.mlir
//
// The patterns are in RaiseAttention.cpp, RaiseGelu.cpp and RaiseLayerNorm.cpp. What does not match stays as
// it is: it trains as well, from more and slower kernels.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "zero/Transforms/NN/Passes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

std::optional<double> zero::splatNumber(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}

Scaled zero::stripScale(Value value) {
  Scaled result{value, 1};
  for (;;) {
    Operation *op = result.rest.getDefiningOp();
    if (!isa_and_nonnull<MulOp, DivOp>(op))
      return result;
    std::optional<double> left = splatNumber(op->getOperand(0)), right = splatNumber(op->getOperand(1));
    if (right && *right != 0)
      result = {op->getOperand(0), isa<MulOp>(op) ? result.factor * *right : result.factor / *right};
    else if (left && isa<MulOp>(op))
      result = {op->getOperand(1), result.factor * *left};
    else
      return result;
  }
}

Value zero::stripBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return value;
  int64_t leading = broadcast.getType().getRank() - broadcast.getOperand().getType().getRank();
  for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
    if (to != static_cast<int64_t>(from) + leading)
      return value;
  return stripBroadcast(broadcast.getOperand());
}

bool zero::isAbout(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

void RaiseRemarks::raised(Location location, StringRef op, const Twine &details) {
  entries.push_back({location, op.str(), details.str()});
}

void RaiseRemarks::emit(ModuleOp module) const {
  // Patterns fire in no order; what they made stands in the program's.
  llvm::MapVector<StringRef, int64_t> counts;
  SmallVector<const Entry *> rest = llvm::map_to_vector(entries, [](const Entry &entry) { return &entry; });
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto found = llvm::find_if(rest, [&](const Entry *entry) {
      return entry->location == op->getLoc() &&
             (entry->op == op->getName().getStringRef() || !StringRef(entry->op).starts_with("nn."));
    });
    if (found == rest.end())
      return;
    ++counts[(*found)->op];
    InFlightDiagnostic remark = emitRemark(op->getLoc()) << "raised to " << (*found)->op;
    if (!(*found)->details.empty())
      remark << ": " << (*found)->details;
    rest.erase(found);
  });
  std::string text;
  for (auto [op, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + op.str();
  emitRemark(module.getLoc()) << "raising found " << (text.empty() ? "nothing" : text);
}

namespace zero {
#define GEN_PASS_DEF_NNRAISECOMPOSITES
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

/// A transpose of the last two dimensions is how matmul reads an operand.
struct FoldTransposeIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value transposed(Value operand) {
    auto transpose = operand.getDefiningOp<TransposeOp>();
    if (!transpose)
      return nullptr;
    SmallVector<int64_t> expected = llvm::to_vector(llvm::seq<int64_t>(0, transpose.getType().getRank()));
    std::swap(expected.back(), expected[expected.size() - 2]);
    return transpose.getPermutation() == ArrayRef(expected) ? transpose.getOperand() : Value();
  }

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    Value lhs = transposed(op.getLhs()), rhs = transposed(op.getRhs());
    if (!lhs && !rhs)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (lhs) {
        op.getLhsMutable().assign(lhs);
        op.setTransposeLhs(!op.getTransposeLhs());
      }
      if (rhs) {
        op.getRhsMutable().assign(rhs);
        op.setTransposeRhs(!op.getTransposeRhs());
      }
    });
    return success();
  }
};

/// A reshape that only puts dimensions of size 1 in is part of the broadcast.
struct FoldReshapeIntoBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!reshape || reshape.getShape() || !reshape.getType().hasStaticShape() ||
        !reshape.getOperand().getType().hasStaticShape())
      return failure();
    ArrayRef<int64_t> narrow = reshape.getOperand().getType().getShape(), wide = reshape.getType().getShape();
    SmallVector<int64_t> dims;
    size_t next = 0;
    for (auto [index, size] : llvm::enumerate(wide)) {
      if (next < narrow.size() && narrow[next] == size) {
        dims.push_back(op.getDims()[index]);
        ++next;
      } else if (size != 1) {
        return failure();
      }
    }
    if (next != narrow.size())
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), reshape.getOperand(), dims);
    return success();
  }
};

/// A square is a product: neither the power nor its gradient needs a logarithm.
struct SquareIsProduct : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    if (splatNumber(op.getRhs()) != 2.0)
      return failure();
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), op.getLhs());
    return success();
  }
};

class NNRaiseComposites : public impl::NNRaiseCompositesBase<NNRaiseComposites> {
public:
  using NNRaiseCompositesBase::NNRaiseCompositesBase;

  void runOnOperation() override {
    RaiseRemarks found;
    // Attention first: its operands still have the transposes that say what they are.
    for (auto add :
         {addRaiseAttentionPatterns, addCancelTransposesPatterns, addRaiseRotationPatterns, addRaiseCrossEntropyPatterns, addRaiseGeluPatterns, addRaiseBiasedLayerNormPatterns,
          addRaiseScaledLayerNormPatterns, addRaiseBareLayerNormPatterns, addSimplerPatterns}) {
      RewritePatternSet patterns(&getContext());
      add(patterns, found);
      if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
        getOperation().emitError("raising did not come to an end");
        return signalPassFailure();
      }
    }
    if (remarks)
      found.emit(getOperation());
  }

private:
  static void addSimplerPatterns(RewritePatternSet &patterns, RaiseRemarks &) {
    patterns.add<FoldTransposeIntoMatmul, FoldReshapeIntoBroadcast, SquareIsProduct>(patterns.getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, patterns.getContext());
  }
};

} // namespace
} // namespace zero
