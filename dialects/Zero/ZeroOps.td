//===- ZeroOps.td - The ops of the zero dialect ---------------------------===//
#ifndef ZERO_DIALECTS_ZERO_ZEROOPS_TD
#define ZERO_DIALECTS_ZERO_ZEROOPS_TD

include "dialects/Zero/ZeroDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Zero_Op<string mnemonic, list<Trait> traits = []> : Op<Zero_Dialect, mnemonic, traits>;

def Zero_AnyBucket : AnyTypeOf<[Zero_ShardType, Zero_FullType, Zero_PartialType]>;
def Zero_ReducedBucket : AnyTypeOf<[Zero_ShardType, Zero_FullType]>;

def Zero_MeshOp : Zero_Op<"mesh", [Symbol]> {
  let summary = "The ranks of the job along one axis.";
  let description = [{
    ```mlir
    module {
      zero.mesh @dp {size = 8 : i64}
    }
    ```
    Constraints:
    - (C1) `size` is at least 1.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$size);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

def Zero_BucketOp : Zero_Op<"bucket", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A flat run of parameters that is gathered and reduced as one.";
  let description = [{
    `slots` are in order of first use; each starts at a multiple of 64 elements. `elements` is the padded
    size, a multiple of 64 x mesh size; rank r owns elements [r, r + 1) x elements / size. Decided once by
    `zero-assign-buckets`, the same at every stage. `block` names the block of the model that the bucket
    belongs to.

    ```mlir
    module {
      zero.mesh @dp {size = 2 : i64}
      zero.bucket @b0 on @dp {block = "h.0", element = f32, elements = 128 : i64,
                              slots = [#zero.slot<"h.0.w", offset = 0, shape = [8, 8]>,
                                       #zero.slot<"h.0.b", offset = 64, shape = [8]>]}
    }
    ```
    Constraints:
    - (C1) `mesh` names a `zero.mesh`.
    - (C2) `element` is a floating-point type.
    - (C3) The names of the slots differ.
    - (C4) Sizes of slots are not negative (zero is allowed).
    - (C5) Each slot starts at a multiple of 64 elements.
    - (C6) Slots are in order and do not overlap.
    - (C7) The last slot ends within `elements`.
    - (C8) `elements` is a positive multiple of 64 x mesh size.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh, TypeAttr:$element,
                       I64Attr:$elements, TypedArrayAttrBase<Zero_SlotAttr, "slots">:$slots, StrAttr:$block);
  let assemblyFormat = "$sym_name `on` $mesh attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The slot of `parameter`, or null.
    SlotAttr getSlot(::llvm::StringRef parameter);
  }];
}

//===----------------------------------------------------------------------===//
// Views of buckets
//===----------------------------------------------------------------------===//

def Zero_ViewOp : Zero_Op<"view", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One parameter of a whole bucket; aliases it.";
  let description = [{
    Constraints:
    - (C1) The bucket exists.
    - (C2) The bucket has the slot.
    - (C3) The result's type is the slot's shape of the bucket's element.
  }];
  let arguments = (ins Zero_FullType:$bucket, StrAttr:$slot);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$bucket `[` $slot `]` attr-dict `:` qualified(type($bucket)) `->` type($result)";
}

def Zero_ShardOfOp : Zero_Op<"shard_of", [Pure]> {
  let summary = "The range of a whole bucket that this rank owns; aliases it.";
  let description = [{
    `all_gather` of `shard_of` of a bucket equal on all ranks gives that bucket again.

    Constraints:
    - (C1) Operand and result are of the same bucket and element.
  }];
  let arguments = (ins Zero_FullType:$full);
  let results = (outs Zero_ShardType:$shard);
  let assemblyFormat = "$full attr-dict `:` qualified(type($full)) `->` qualified(type($shard))";
  let hasVerifier = 1;
}

def Zero_AliasOp : Zero_Op<"alias", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "What a collective over one rank is: the same bytes under the type of its result.";
  let description = [{
    On a mesh of one rank gather, reduce-scatter and all-reduce all give their operand: there the four stages
    are one program. Chains of aliases fold; an alias to the operand's own type folds to it.

    Constraints:
    - (C1) Operand and result are of the same bucket and element.
    - (C2) The bucket exists.
    - (C3) Its mesh has one rank.
  }];
  let arguments = (ins Zero_AnyBucket:$operand);
  let results = (outs Zero_AnyBucket:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasFolder = 1;
}

def Zero_PackOp : Zero_Op<"pack", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Puts one gradient per slot, in slot order, into a bucket of contributions; padding is zero.";
  let description = [{
    Value semantics; `zero-to-plan` lets the producer of operand i write at the slot's address, or else emits
    an explicit copy.

    Constraints:
    - (C1) The result is of the bucket, in its element.
    - (C2) The bucket exists.
    - (C3) One operand for each slot.
    - (C4) Operand i has the type of slot i.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs Zero_PartialType:$result);
  let assemblyFormat = "$bucket `(` $gradients `)` attr-dict `:` functional-type($gradients, $result)";
}

def Zero_ConvertOp : Zero_Op<"convert", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "This rank's contributions in another element type, each rounded once.";
  let description = [{
    Stands before a reduction that sends another type than the gradients have (`communication_data_type`).

    ```mlir
    module {
      zero.mesh @dp {size = 2 : i64}
      zero.bucket @b0 on @dp {block = "h", element = bf16, elements = 128 : i64, slots = [#zero.slot<"w", offset = 0, shape = [128]>]}
      func.func @reduce(%p: !zero.partial<@b0>) -> !zero.shard<@b0> {
        %wide = zero.convert %p : !zero.partial<@b0> to !zero.partial<@b0, f32>
        %f = zero.reduce_scatter_start %wide : !zero.partial<@b0, f32> -> !zero.future<!zero.shard<@b0>>
        %sum = zero.wait %f : !zero.future<!zero.shard<@b0>> -> !zero.shard<@b0>
        return %sum : !zero.shard<@b0>
      }
    }
    ```
    Constraints:
    - (C1) Operand and result are of the same bucket.
    - (C2) The bucket exists.
    - (C3) The elements differ and are floats.
  }];
  let arguments = (ins Zero_PartialType:$operand);
  let results = (outs Zero_PartialType:$result);
  let assemblyFormat = "$operand attr-dict `:` qualified(type($operand)) `to` qualified(type($result))";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def Zero_AllGatherStartOp : Zero_Op<"all_gather_start", []> {
  let summary = "Starts to collect the shards of all ranks into the whole bucket.";
  let description = [{
    ```
    rank 0: [a . .]      [a b c]
    rank 1: [. b .]  ->  [a b c]
    rank 2: [. . c]      [a b c]
    ```
    The result is an allocation (MemAlloc): two starts never merge, a start whose result is unused dies. `early`: `@micro` starts with it, and
    from the second step on it has been started in the `@update` before, as soon as that has updated the shard (set by
    `zero-prefetch-gathers`).

    Constraints:
    - (C1) The result is a future of the same bucket and element, whole.
  }];
  let arguments = (ins Zero_ShardType:$shard, UnitAttr:$early);
  let results = (outs Res<Zero_FutureType, "", [MemAlloc]>:$future);
  let assemblyFormat = "$shard attr-dict `:` qualified(type($shard)) `->` qualified(type($future))";
  let hasVerifier = 1;
}

def Zero_ReduceScatterStartOp : Zero_Op<"reduce_scatter_start", []> {
  let summary = "Starts to sum the ranks' contributions; each rank gets its range of the sum.";
  let description = [{
    ```
    rank 0: [a0 b0]      [a0+a1 .    ]
    rank 1: [a1 b1]  ->  [.     b0+b1]
    ```
    The sum is in rank order, in float32, rounded once to the result's element, which may be another than what is sent.

    Constraints:
    - (C1) The result is a future of a shard of the same bucket.
    - (C2) Its element is a float.
  }];
  let arguments = (ins Zero_PartialType:$partial);
  let results = (outs Res<Zero_FutureType, "", [MemAlloc]>:$future);
  let assemblyFormat = "$partial attr-dict `:` qualified(type($partial)) `->` qualified(type($future))";
  let hasVerifier = 1;
}

def Zero_AllReduceStartOp : Zero_Op<"all_reduce_start", []> {
  let summary = "Starts to sum the ranks' contributions; each rank gets the whole sum.";
  let description = [{
    ```
    rank 0: [a0 b0]      [a0+a1 b0+b1]
    rank 1: [a1 b1]  ->  [a0+a1 b0+b1]
    ```
    It is a reduce-scatter, then an all-gather of the sum, which is sent in the result's element: rounded once for all.

    Constraints:
    - (C1) The result is a future of the same bucket, whole.
    - (C2) Its element is a float.
  }];
  let arguments = (ins Zero_PartialType:$partial);
  let results = (outs Res<Zero_FutureType, "", [MemAlloc]>:$future);
  let assemblyFormat = "$partial attr-dict `:` qualified(type($partial)) `->` qualified(type($future))";
  let hasVerifier = 1;
}

def Zero_WaitOp : Zero_Op<"wait", [Pure]> {
  let summary = "The value of a future; the program goes on when it is complete.";
  let description = [{
    Pure, so that a dead gather dies with its wait. One wait for each start (`zero-verify-schedule`). `next_step`: `@update` ends without it,
    and each reader of the parameters in the next step's `@micro` waits (set by `zero-sink-waits`).

    Constraints:
    - (C1) The result's type is what the future holds.
  }];
  let arguments = (ins Zero_FutureType:$future, UnitAttr:$next_step);
  let results = (outs Zero_ReducedBucket:$result);
  let assemblyFormat = "$future attr-dict `:` qualified(type($future)) `->` type($result)";
  let hasVerifier = 1;
}

def Zero_ReleaseOp : Zero_Op<"release", []> {
  let summary = "Gives a gathered bucket's memory back; made by `zero-insert-release`.";
  let arguments = (ins Arg<Zero_FullType, "", [MemFree]>:$full);
  let assemblyFormat = "$full attr-dict `:` qualified(type($full))";
}

def Zero_ControlSumOp : Zero_Op<"control_sum", [AllTypesMatch<["operand", "result"]>,
                                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Sums a small tensor (norm, count, loss) over the ranks, in rank order, at once.";
  let description = [{
    Its traffic is the row `control` of every report. On a mesh of one rank `zero-insert-collectives` makes
    none.

    Constraints:
    - (C1) The mesh exists.
    - (C2) The shape is static.
    - (C3) Elements are f32, f64 or i64.
  }];
  let arguments = (ins Arg<AnyRankedTensor, "", [MemRead]>:$operand, FlatSymbolRefAttr:$mesh);
  let results = (outs Res<AnyRankedTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "$operand `on` $mesh attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Gradients and updates
//===----------------------------------------------------------------------===//

def Zero_AccumulateOp : Zero_Op<"accumulate", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "accumulator + value, in place; in the first micro-batch of a step it is `value` alone.";
  let description = [{
    The accumulator is a state argument of `@micro`. `zero-to-plan` emits `@micro` twice, as section
    `micro_first` (write) and `micro_next` (add). Operands are buckets or tensors of scalars (`loss_sum`,
    `label_count`). The sum is computed in float32 where both are narrower, and rounded once to the accumulator's element.

    ```mlir
    func.func @add(%sum: !zero.partial<@b0, f32>, %one: !zero.partial<@b0>) -> !zero.partial<@b0, f32> {
      %0 = zero.accumulate %sum, %one : !zero.partial<@b0, f32>, !zero.partial<@b0>
      return %0 : !zero.partial<@b0, f32>
    }
    ```
    Constraints:
    - (C1) The type is a bucket's or a 0-d tensor.
    - (C2) The value has the accumulator's type, or is held alike of the same bucket with another element.
  }];
  let arguments = (ins AnyType:$accumulator, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$accumulator `,` $value attr-dict `:` custom<SameOrBoth>(type($accumulator), type($value))";
  let hasVerifier = 1;
}

def Zero_SumSquaresOp : Zero_Op<"sum_squares", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The exact sum of squares of reduced gradients: 24 integers that may be added over ranks.";
  let description = [{
    A cell is 64 consecutive elements of one parameter; its sum of squares is a float64 in one fixed lane
    order. The cell sums are added exactly (layout: zero/Runtime/Kernels/ExactSum.h), so the sum depends on no
    layout. Operands all are shards (the caller adds over ranks) or all full (it must not).

    Constraints:
    - (C1) At least one operand.
    - (C2) All operands are shards or all are whole.
    - (C3) No bucket is counted twice.
    - (C4) The result is tensor<24xi64>.
    - (C5) The elements of all operands are one type.
  }];
  let arguments = (ins Variadic<Zero_ReducedBucket>:$gradients);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$gradients attr-dict `:` type($gradients) `->` type($result)";
  let hasVerifier = 1;
}

def Zero_NormOp : Zero_Op<"norm", [Pure]> {
  let summary = "sqrt of an exact sum, rounded once; NaN or infinity where an element was.";
  let arguments = (ins RankedTensorOf<[I64]>:$sum);
  let results = (outs 0DTensorOf<[F32]>:$result);
  let assemblyFormat = "$sum attr-dict `:` type($sum) `->` type($result)";
}

def Zero_UpdateOp : Zero_Op<"update", [Pure, AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
                                         DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Applies a body to every element of a bucket's states: the optimizer step, in place.";
  let description = [{
    `states` are the parameter, its gradient and the optimizer's states, all shards or all full of `bucket`, each with an
    element of its own (masters and moments of 16-bit parameters are f32); `scalars` are 0-d tensors. The body sees one
    element of each state and the scalars as 0-d tensors and yields the new parameter and optimizer states (all states but
    the gradient, in order).

    Constraints:
    - (C1) At least two states: the parameter and its gradient.
    - (C2) All states are shards or all are whole, of the bucket.
    - (C3) One result for each state but the gradient.
    - (C4) A result has the type of its state.
    - (C5) The body has one argument for each state and each scalar.
    - (C6) A scalar's argument has the scalar's type.
    - (C7) The body yields one value for each result.
    - (C8) The bucket exists.
    - (C9) A state's argument is a 0-d tensor of the state's element.
    - (C10) So is the value yielded for it.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Variadic<Zero_ReducedBucket>:$states,
                       Variadic<0DTensorOf<[F32]>>:$scalars);
  let results = (outs Variadic<Zero_ReducedBucket>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $bucket `(` $states `:` type($states) `)` `scalars` `(` ($scalars^ `:` type($scalars))? `)`
    `->` type($results) $body attr-dict
  }];
  let hasVerifier = 1;
}
def Zero_YieldOp : Zero_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["UpdateOp"]>]> {
  let summary = "The new elements of the enclosing update.";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif
