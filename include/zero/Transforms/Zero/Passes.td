//===- Passes.td - Passes over the zero dialect -----------------------------===//
#ifndef ZERO_TRANSFORMS_ZERO_PASSES_TD
#define ZERO_TRANSFORMS_ZERO_PASSES_TD
include "mlir/Pass/PassBase.td"

// In the order of the pipeline: assign, partition, insert collectives (phase partition); prefetch, sink,
// release, verify (phase schedule).

def ZeroAssignBuckets : Pass<"zero-assign-buckets", "::mlir::ModuleOp"> {
  let summary = "Lays the trained parameters out in flat buckets, the same at every stage.";
  let description = [{
    Makes `zero.mesh @dp` (or takes the one that is there) and one or more `zero.bucket` for each block of the
    model. A block is the prefix of a parameter's name up to its first component that is a number (`m.h.0` of
    `m.h.0.attn.weight`); parameters without a number that are used in a row are a block of their own. In a
    model without numbers a block is a module (the name without its last component), and where names have one
    component only, a matrix with the vectors that follow it. Blocks, and parameters in them, are in order of
    first use in `@micro`. A bucket holds at most `bucket-elements` elements, or one parameter; parameters of
    different element types, and those that stay whole at stage 3, do not share one. Slots start at multiples
    of 64 elements, buckets are padded to a multiple of 64 x ranks.

    Input:  `func.func @micro(%w {parameter "h.0.w"}, %b {parameter "h.0.b"}) ..`
    Output: `zero.mesh @dp ..  zero.bucket @b0 on @dp {block = "h.0", slots = [#zero.slot<"h.0.w", ..>,
            #zero.slot<"h.0.b", ..>]}  func.func @micro ..`
    (* example: test/Transforms/Zero/assign-buckets.mlir *)
  }];
  let options = [Option<"bucketElements", "bucket-elements", "int64_t", "500000000",
                        "Most elements of a bucket (one parameter at least).">,
                 Option<"worldSize", "world-size", "int64_t", "1",
                        "Ranks of the mesh; a `zero.mesh` that is there must agree.">,
                 Option<"persistenceThreshold", "persistence-threshold", "int64_t", "0",
                        "As of zero-partition-state: such parameters get buckets of their own.">];
  let dependentDialects = ["::zero::sharding::ZeroDialect"];
}

def ZeroPartitionState : Pass<"zero-partition-state", "::mlir::ModuleOp"> {
  let summary = "One state and one update a bucket instead of one a parameter, sharded as the stage says.";
  let description = [{
    A stage is a set of sharded state kinds: 0 = {}, 1 = {optimizer}, 2 = {optimizer, gradient}, 3 =
    {optimizer, gradient, parameter}; on a mesh of one rank it is {} always. Arguments and results of `@micro`
    and `@update` become one for each bucket and kind, of type `!zero.shard` where the kind is in the set and
    `!zero.full` elsewhere; `nn.data` of the parameters becomes an array in slot order. Parameters are read
    through `zero.view`, gradients are `zero.pack`ed. The `nn.adam` or `nn.sgd` of a bucket's parameters
    become one `zero.update` whose body is that op on one element, so that their hyper-parameters must be
    equal; `nn.global_norm` becomes `zero.sum_squares` and `zero.norm`. Where a value changes hands there is a
    `builtin.unrealized_conversion_cast`, which zero-insert-collectives turns into a collective. Optimizer
    states and reduced gradients have the elements that `@update` takes (`!zero.shard<@b0, f32>` of a bucket of
    bf16). A gradient that is not in the set, of an optimizer that is, has result attribute `zero.whole_buffer`.

    Input:  `func.func @update(%w {parameter "w"}, %dw {gradient "w"}, ..) { %w1 = nn.sgd %w, %dw .. }`
    Output: `func.func @update(%s: !zero.shard<@b0> {parameter "b0"}, %g: !zero.shard<@b0> {gradient "b0"},
            ..) { %s1 = zero.update @b0(%s, %g : ..) .. }`
    (* example: test/Transforms/Zero/partition-state.mlir *)
  }];
  let options = [Option<"stage", "stage", "int64_t", "0",
                        "ZeRO stage 0 to 3: the set of sharded state kinds.">,
                 Option<"persistenceThreshold", "persistence-threshold", "int64_t", "0",
                        "Parameters of fewer elements stay whole at stage 3.">];
  let dependentDialects = ["::zero::sharding::ZeroDialect", "::zero::nn::NNDialect"];
}

def ZeroInsertCollectives : Pass<"zero-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Gathers parameters where they are read, reduces gradients where they are complete.";
  let description = [{
    Turns each cast that zero-partition-state left into collectives, each waited for at once:
    - shard to whole in `@micro`: one gather for each run of reads. Reads of a bucket are one run while no
      other block's bucket is read between; a run is cut where the backward pass begins unless the bucket is
      gathered elsewhere, too. Transposes, reshapes, slices and casts of parameters are cloned into each run:
      they are never saved.
    - partial to shard or whole: a reduction, behind the last gradient of the bucket; what it sends is
      converted first (`zero.convert`) where `wire-element` is another element.
      Whole gradients that are complete last, up to the first one of at least common size, are reduced to ranges here and
      gathered in `@update`, behind the norm, which is then of ranges, and their updates come last: others hide the gathers.
    - shard to whole in `@update`: a gather of the new parameters at the end. With several micro-batches
      (`accumulation-steps`) `@micro` also takes the gradients, the loss and the count so far and returns
      `zero.accumulate`; with `reduce-at=step` its gradients stay partial and `@update` reduces them. The
      loss, the count and sums of squares of shards are summed over ranks (`zero.control_sum`). On one rank a
      collective is `zero.alias`.

    Input:  `%f = builtin.unrealized_conversion_cast %s : !zero.shard<@b0> to !zero.full<@b0>; .. forward ..;
            .. backward ..`
    Output: `%f0 = zero.all_gather_start %s; %b0 = zero.wait %f0; .. forward ..; %f1 = zero.all_gather_start
            %s; %b1 = zero.wait %f1; .. backward ..`
    (* example: test/Transforms/Zero/insert-collectives.mlir *)
  }];
  let options = [Option<"stage", "stage", "int64_t", "0", "As of zero-partition-state.">,
                 Option<"accumulationSteps", "accumulation-steps", "int64_t", "1",
                        "Micro-batches of one step and rank (A).">,
                 Option<"reduceAt", "reduce-at", "std::string", "\"\"",
                        "step, micro_batch, or empty: micro_batch where gradients are sharded, else step.">,
                 Option<"wireElement", "wire-element", "std::string", "\"\"",
                        "Element of contributions when they are sent: f32, f16, bf16, or empty: the parameters'.">];
  let dependentDialects = ["::zero::sharding::ZeroDialect"];
}

def ZeroHoistGradients : Pass<"zero-hoist-gradients", "::mlir::ModuleOp"> {
  let summary = "Computes gradients before what does not wait for them, so that their reductions start early.";
  let description = [{
    Moves each op that computes a gradient of a bucket which is reduced in the same function up behind the last of its operands, and
    the bucket's `zero.pack` and the start of its reduction behind the last of its gradients. So a matrix' gradient comes before the
    gradient of what the matrix was multiplied with, and its reduction hides behind that. Gradients that are accumulated first stay.
    No number changes.

    Input:  `compute dX; compute dW; pack dW; start; wait`
    Output: `compute dW; pack dW; start; compute dX; wait`
    (* example: test/Transforms/Zero/hoist-gradients.mlir *)
  }];
  let options = [Option<"report", "report", "bool", "false", "Remark how many ops were moved up.">];
}

def ZeroPrefetchGathers : Pass<"zero-prefetch-gathers", "::mlir::ModuleOp"> {
  let summary = "Starts each all-gather early enough to hide behind earlier compute.";
  let description = [{
    Moves every `zero.all_gather_start` up to the earliest point at which the elements in flight (started, not
    waited for) stay within `prefetch-elements` and the elements alive (started, not past their last use)
    within `max-live-elements`. A gather of new parameters in `@update`, which stays, moves right behind its
    bucket's update, whatever the limits. Gathers that so come to the very start of `@micro` are `early`: from the
    second step on they start in the `@update` before, while it updates other buckets. Gathers never cross each other:
    their order is kept on every rank. Optional: without it the program is correct and slower. With
    `prefetch-elements` 0 nothing moves but gathers of new parameters. `max-live-elements` below
    what one block and pass needs at once is an error.

    Input:  `start L0; wait L0; compute L0; start L1; wait L1; compute L1`
    Output: `start L0; start L1; wait L0; compute L0; wait L1; compute L1`
    (* example: test/Transforms/Zero/prefetch-gathers.mlir *)
  }];
  let options = [Option<"prefetchElements", "prefetch-elements", "int64_t", "0",
                        "Most elements of gathered parameters that may be in flight at once.">,
                 Option<"maxLiveElements", "max-live-elements", "int64_t", "1000000000",
                        "Most elements of gathered parameters alive at once.">,
                 Option<"report", "report", "bool", "false",
                        "Remark how many gathers were moved and how many a limit kept back.">];
}

def ZeroSinkWaits : Pass<"zero-sink-waits", "::mlir::ModuleOp"> {
  let summary = "Moves each wait down to the first use of its value.";
  let description = [{
    Views of the value move with their wait, and so does `zero.accumulate`. The wait for a reduction of packed
    gradients moves to the start of the next reduction: one bucket is in flight while the next is filled, so that two buckets of
    contributions, not all, need memory at once. It moves on to a later start while what is in flight and being filled is not more than
    two of the largest bucket. The wait for a gather does not
    move behind the start of another one where both, with what else is in flight there, are more elements than
    `prefetch-elements`. Where `@update` gathers nothing but new parameters and only returns them, their waits are left to the next
    step (`next_step`), whose `@micro` waits for each where it reads it.

    Input:  `start L1; wait L1; view L1; compute L0; compute L1`
    Output: `start L1; compute L0; wait L1; view L1; compute L1`
    (* example: test/Transforms/Zero/sink-waits.mlir *)
  }];
  let options = [Option<"prefetchElements", "prefetch-elements", "int64_t", "-1",
                        "Most elements of gathered parameters in flight at once; negative: any number.">,
                 Option<"report", "report", "bool", "false", "Remark how many waits were moved down.">];
}

def ZeroInsertRelease : Pass<"zero-insert-release", "::mlir::ModuleOp"> {
  let summary = "Erases all releases and puts one after the last use of each gathered bucket.";
  let description = [{
    A use is a use of the bucket, of a view of it or of anything computed from gathered parameters alone. What
    only a release kept alive dies. Buckets that the function returns are not released. The last pass of phase
    `schedule`; IR that went through other passes re-enters here.

    Input:  `wait L0; view L0; compute L0; compute X`
    Output: `wait L0; view L0; compute L0; release L0; compute X`
    (* example: test/Transforms/Zero/insert-release.mlir *)
  }];
  let dependentDialects = ["::zero::sharding::ZeroDialect"];
}

def ZeroVerifySchedule : Pass<"zero-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "The contract of phase schedule: one wait per start, no use after release, limits kept, sums taken once.";
  let description = [{
    Each start of a collective has one wait; each gathered bucket that is not returned is released once, and
    nothing computed from it alone is used after; elements of gathered parameters alive stay within
    `max-live-elements`, those in flight, where several gathers are, within `prefetch-elements`; the gradients
    of each bucket are packed, reduced and applied once; a state has one type; no cast between who holds what is left.
    Every value of a function is followed from its arguments on (zero/Analysis/RankStates.h): the same on all ranks, this
    rank's range, what its data give, or its part of a sum. A part stays one under linear ops alone; the printed loss and
    norm and every scalar of an update are the same on all ranks; what is a sum over the ranks is not summed again; only
    sums are applied as gradients or counted in the norm. Gradients and views of one shape are not exchanged, as far as what they
    are made of tells (zero/Analysis/GradientPaths.h says how far: all weights but the first of one input).
    Each message names the pass that should have prevented it. Changes nothing.

    Input:  `start L0; wait L0; release L0; compute L0`
    Output: error: reads bucket L0 after its release; zero-insert-release puts it behind the last use
    (* example: test/Transforms/Zero/verify-schedule.mlir *)
  }];
  let options = [Option<"maxLiveElements", "max-live-elements", "int64_t", "1000000000",
                        "Most elements of gathered parameters alive at once.">,
                 Option<"prefetchElements", "prefetch-elements", "int64_t", "-1",
                        "Most elements in flight at once; negative: any number.">];
}
#endif
