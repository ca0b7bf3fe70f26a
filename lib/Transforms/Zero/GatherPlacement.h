//===- GatherPlacement.h - Gathers of sharded parameters where they are read //
#ifndef ZERO_LIB_TRANSFORMS_ZERO_GATHERPLACEMENT_H
#define ZERO_LIB_TRANSFORMS_ZERO_GATHERPLACEMENT_H

#include "StepFunctions.h"

namespace zero::sharding {

/// Replaces each cast from a shard to the whole bucket by one gather for each run of reads:
/// - reads of a bucket belong to one run while no other block's bucket is read between them;
/// - a run that goes on from the forward into the backward pass is cut there, unless the bucket is gathered
/// elsewhere, too
///   (a tied head, whose backward follows at once, shares its gather; every bucket that both passes read has
///   two).
/// Chains computed from parameters alone are cloned into each run.
void placeGathers(mlir::func::FuncOp function, llvm::ArrayRef<mlir::UnrealizedConversionCastOp> casts);

/// `start` and `wait` of a collective before the builder's insertion point; the value waited for.
template <typename StartOp>
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value operand,
                             mlir::Type result) {
  auto start = StartOp::create(builder, loc, FutureType::get(builder.getContext(), result), operand);
  return WaitOp::create(builder, loc, result, start.getFuture());
}

} // namespace zero::sharding

#endif
