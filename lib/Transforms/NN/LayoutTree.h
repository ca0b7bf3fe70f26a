//===- LayoutTree.h - A value computed with its dimensions in another order ===//
#ifndef ZERO_LIB_TRANSFORMS_NN_LAYOUTTREE_H
#define ZERO_LIB_TRANSFORMS_NN_LAYOUTTREE_H

#include "dialects/NN/NNOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace zero {

/// The ops that compute a value from leaves that exist in any layout for free: transposes that cancel, numbers,
/// iotas and broadcasts. Dimension i of the wanted layout is dimension permutation[i] of the value.
class LayoutTree {
public:
  LayoutTree(mlir::Value value, llvm::ArrayRef<int64_t> permutation);

  /// Whether the value can be computed in the wanted layout without moving an element more, and nobody but `reader`
  /// reads what is computed on the way, except of ops that `mayRepeat`.
  bool isFree(
      mlir::Operation *reader, llvm::function_ref<bool(mlir::Operation *)> mayRepeat = [](mlir::Operation *) {
        return false;
      }) const;
  /// Whether slices or concats are among the ops, and how many transposes cancel.
  bool hasParts() const { return parts; }
  int64_t getCancelled() const { return cancelled; }
  llvm::ArrayRef<nn::BroadcastOp> getBroadcasts() const { return broadcasts; }

  mlir::Value build(mlir::OpBuilder &builder);

private:
  bool visit(mlir::Value value);
  std::optional<llvm::SmallVector<int64_t>> broadcastDims(nn::BroadcastOp op) const;
  llvm::SmallVector<int64_t> permute(llvm::ArrayRef<int64_t> values) const;
  mlir::Value build(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value make(mlir::OpBuilder &builder, mlir::Value value);

  mlir::Value root;
  llvm::SmallVector<int64_t> permutation, inverse;
  llvm::SmallSetVector<mlir::Operation *, 16> inner;
  llvm::SmallVector<nn::BroadcastOp> broadcasts;
  llvm::DenseMap<mlir::Value, mlir::Value> built;
  bool known = false, parts = false;
  int64_t cancelled = 0;
};

} // namespace zero

#endif
