//===- AttentionScores.h - What stands between q k^T and its softmax ------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_ATTENTIONSCORES_H
#define ZERO_LIB_TRANSFORMS_NN_ATTENTIONSCORES_H

#include "dialects/NN/NNOps.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace zero {

/// One step that hides or shifts scores.
struct MaskLayer {
  mlir::Value added;         // to the scores; null where a condition selects
  double factor = 1;         // of `added`
  mlir::Value condition;     // where it equals `isSeenWhere` the score stays
  bool isSeenWhere = true;
  double hidden = 0;         // what stands elsewhere
  mlir::RankedTensorType type; // of the scores here
};

/// softmax's operand as scale * product with layers around it, the outermost first. Numbers of the layers
/// have the scales outside them in them.
struct AttentionScores {
  nn::MatmulOp product;
  double scale = 1;
  llvm::SmallVector<MaskLayer> layers;
  /// Every shape that the scores have on the way.
  llvm::SmallVector<llvm::SmallVector<int64_t>> shapes;
};
std::optional<AttentionScores> matchScores(nn::SoftmaxOp softmax);

/// How attention says the layers.
struct AttentionMask {
  bool isCausal = false;
  /// (B or 1) x (H or 1) x T x S, added to the scores, or null.
  mlir::Value mask;
  /// (B or 1) x (H or 1) x T: the rows that have an entry; null where every row has one. `dropsScores`: what
  /// rows without one are made of are the finite numbers in place of scores, so no gradient reaches these;
  /// otherwise they are guarded, and their result is 0.
  mlir::Value hasEntry;
  bool dropsScores = false;
};

/// Decides how to say the layers for scores B x H x T x S and builds the mask; `isGuarded`: a row without
/// entry gives 0 instead of NaN. None where attention cannot say the same.
std::optional<AttentionMask> buildMask(mlir::PatternRewriter &rewriter, mlir::Location location,
                                       llvm::ArrayRef<MaskLayer> layers, llvm::ArrayRef<int64_t> shape,
                                       bool isGuarded);

} // namespace zero

#endif
