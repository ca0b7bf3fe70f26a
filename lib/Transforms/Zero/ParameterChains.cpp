//===- ParameterChains.cpp - Values computed from parameters alone --------===//
#include "ParameterChains.h"

using namespace mlir;

namespace zero::sharding {

bool isChainOp(Operation *op) {
  return isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::CastOp, nn::BroadcastOp, nn::ConcatOp,
             nn::PadOp>(op);
}

bool isBucketView(Operation *op) { return isa<ViewOp, ShardOfOp, AliasOp>(op); }

/// Whether all operands are computed from gathered parameters, looking through chains.
static bool isOfParametersAlone(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<ViewOp>(op))
    return true;
  return isChainOp(op) && llvm::all_of(op->getOperands(), isOfParametersAlone);
}

llvm::SetVector<Value> getChainsOf(Value whole) {
  llvm::SetVector<Value> chain;
  chain.insert(whole);
  for (size_t i = 0; i < chain.size(); ++i)
    for (Operation *user : chain[i].getUsers())
      if (isBucketView(user) || (isChainOp(user) && llvm::all_of(user->getOperands(), isOfParametersAlone)))
        chain.insert(user->getResult(0));
  return chain;
}

} // namespace zero::sharding
