//===- UpdatePartition.h - @update over buckets instead of parameters -----===//
#ifndef ZERO_LIB_TRANSFORMS_ZERO_UPDATEPARTITION_H
#define ZERO_LIB_TRANSFORMS_ZERO_UPDATEPARTITION_H

#include "StepFunctions.h"

namespace zero::sharding {

/// Who holds what of a bucket.
struct BucketStates {
  BucketOp bucket;
  mlir::Type parameter; ///< of the parameter as a state
  /// How zero.update takes the gradient, the optimizer states and (part of) the parameter, each in its own element.
  mlir::Type updated;
  mlir::Type gradient;        ///< of the reduced gradient
  bool wholeGradient = false; ///< the gradient's state is a whole local buffer although it is a shard
};

struct SlotPlace {
  size_t bucket, slot;
};

struct BucketStatesOfModule {
  llvm::SmallVector<BucketStates> buckets;
  llvm::StringMap<SlotPlace> slots; ///< by the parameter's name
};

/// Rewrites @update: one state, one zero.update for each bucket and kind of state; the norm as an exact sum
/// over buckets.
mlir::LogicalResult partitionUpdate(mlir::func::FuncOp update, BucketStatesOfModule &states);

} // namespace zero::sharding

#endif
