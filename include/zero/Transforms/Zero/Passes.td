//===- Passes.td - Passes over the zero dialect ---------------------------===//
#ifndef ZERO_TRANSFORMS_ZERO_PASSES_TD
#define ZERO_TRANSFORMS_ZERO_PASSES_TD
include "mlir/Pass/PassBase.td"

def ZeroAssignBuckets : Pass<"zero-assign-buckets", "::mlir::ModuleOp"> {
  let summary = "Lays the trained parameters out in flat buckets, the same at every stage.";
  let options = [Option<"bucketElements", "bucket-elements", "int64_t", "500000000", "Most elements of a bucket (one parameter at least).">,
                 Option<"worldSize", "world-size", "int64_t", "1", "Ranks of the mesh; a `zero.mesh` that is there must agree.">];
  let dependentDialects = ["::zero::sharding::ZeroDialect"];
}
def ZeroPartitionState : Pass<"zero-partition-state", "::mlir::ModuleOp"> {
  let summary = "Turns per-parameter states and updates into one state and one update a bucket, sharded as the stage says.";
  let options = [Option<"stage", "stage", "int64_t", "0", "ZeRO stage 0 to 3: the set of sharded state kinds.">,
                 Option<"persistenceThreshold", "persistence-threshold", "int64_t", "0", "Parameters of fewer elements stay whole at stage 3.">];
  let dependentDialects = ["::zero::sharding::ZeroDialect", "::zero::nn::NNDialect"];
}
def ZeroInsertCollectives : Pass<"zero-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Gathers parameters where they are read, reduces gradients where they are complete.";
  let options = [Option<"stage", "stage", "int64_t", "0", "As of zero-partition-state.">,
                 Option<"accumulationSteps", "accumulation-steps", "int64_t", "1", "Micro-batches of one step and rank (A).">,
                 Option<"reduceAt", "reduce-at", "std::string", "\"\"", "step, micro_batch, or empty: as the stage says.">];
  let dependentDialects = ["::zero::sharding::ZeroDialect"];
}
def ZeroPrefetchGathers : Pass<"zero-prefetch-gathers", "::mlir::ModuleOp"> {
  let summary = "Starts each all-gather early enough to hide behind earlier compute.";
  let options = [Option<"prefetchElements", "prefetch-elements", "int64_t", "0", "Most elements of gathered parameters that may be in flight at once.">,
                 Option<"maxLiveElements", "max-live-elements", "int64_t", "1000000000", "Most elements of gathered parameters alive at once.">];
  let statistics = [Statistic<"movedGathers", "moved-gathers", "Gathers started earlier">,
                    Statistic<"blockedByBudget", "blocked-by-budget", "Gathers kept back by a limit">];
}
def ZeroSinkWaits : Pass<"zero-sink-waits", "::mlir::ModuleOp"> {
  let summary = "Moves each wait down to the first use of its value.";
  let statistics = [Statistic<"sunkWaits", "sunk-waits", "Waits moved down">];
}
def ZeroInsertRelease : Pass<"zero-insert-release", "::mlir::ModuleOp"> {
  let summary = "Erases all releases and puts one after the last use of each gathered bucket.";
  let dependentDialects = ["::zero::sharding::ZeroDialect"];
}
def ZeroVerifySchedule : Pass<"zero-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "The contract of phase schedule: one wait per start, no use after release, limits kept.";
  let options = [Option<"maxLiveElements", "max-live-elements", "int64_t", "1000000000", "Most elements of gathered parameters alive at once.">];
}
#endif
