//===- ParameterChains.h - Values computed from parameters alone ----------===//
//
// A transpose, reshape, slice or cast of a gathered parameter costs no gather to compute again, but keeps the
// bucket (or a copy of it) alive where it is kept. So such chains are cloned beside each gather and end before
// its release.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_TRANSFORMS_ZERO_PARAMETERCHAINS_H
#define ZERO_LIB_TRANSFORMS_ZERO_PARAMETERCHAINS_H

#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "llvm/ADT/SetVector.h"

namespace zero::sharding {

/// An op that only moves or converts elements: what its operands are computed from is what its result is
/// computed from.
bool isChainOp(mlir::Operation *op);
/// Another way to see the bytes of a bucket: zero.view, zero.shard_of, zero.alias.
bool isBucketView(mlir::Operation *op);

/// `whole`, its views, and all values computed from it (and other gathered parameters) alone.
llvm::SetVector<mlir::Value> getChainsOf(mlir::Value whole);

} // namespace zero::sharding

#endif
