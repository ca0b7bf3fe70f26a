//===- PlanOps.td - The records of a plan ---------------------------------===//
#ifndef ZERO_DIALECTS_PLAN_PLANOPS_TD
#define ZERO_DIALECTS_PLAN_PLANOPS_TD

include "dialects/Plan/PlanDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
def Plan_Slices : Plan_SliceArray;
/// Events of section `update` of the step before, of collectives that outlast it: in `micro_first` alone.
def Plan_CarriedWaits : DefaultValuedAttr<DenseI64ArrayAttr, "{}">;

def Plan_ArenaOp : Plan_Op<"arena", [Symbol]> {
  let summary = "Memory of one kind, allocated once; `size_bytes` is set by `plan-assign-offsets`.";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_MemoryKindAttr:$kind, I64Attr:$size_bytes);
  let assemblyFormat = "$sym_name attr-dict";
}

def Plan_BufferOp : Plan_Op<"buffer", [Symbol]> {
  let summary = "A range of an arena. `state` buffers live for the whole run, others within one section.";
  let description = [{
    `offset` (bytes, a multiple of 64) is absent before `plan-assign-offsets`. `label` is the user's name of what it holds.
    `padding_bytes` of `size_bytes` hold no element.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$arena, I64Attr:$size_bytes, OptionalAttr<I64Attr>:$offset,
                       Plan_ContentClassAttr:$content, DefaultValuedAttr<I64Attr, "0">:$padding_bytes, UnitAttr:$state, StrAttr:$label);
  let assemblyFormat = "$sym_name `in` $arena attr-dict";
  let hasVerifier = 1;
}

def Plan_SectionOp : Plan_Op<"section", [Symbol, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Commands that run together: `micro_first`, `micro_next`, `update` or `predict`.";
  let description = [{
    All queues are idle at its start and its end, but for collectives of `update` that outlast it, and for early ones of `micro_first` that run in
    it: these end in `micro_first` of the next step, or before anything else that comes next.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
}

class Plan_Command<string mnemonic> : Plan_Op<mnemonic, [HasParent<"SectionOp">]>;

def Plan_DispatchOp : Plan_Command<"dispatch"> {
  let summary = "Runs a kernel: `reads` then `writes` are its pointers, in order.";
  let description = [{
    `kernel` names a generated kernel (a `plan.kernel`) or one of the library (include/zero/Runtime/Kernels/KernelTable.inc).
    `integers` and `reals` are its parameters. A kernel that updates in place has the slice in both lists.
  }];
  let arguments = (ins Plan_QueueKindAttr:$queue, DenseI64ArrayAttr:$waits, OptionalAttr<I64Attr>:$record, StrAttr:$kernel,
                       Plan_Slices:$reads, Plan_Slices:$writes, DenseI64ArrayAttr:$integers, DenseF64ArrayAttr:$reals, Plan_CarriedWaits:$carried);
  let assemblyFormat = "$kernel `on` $queue `reads` $reads `writes` $writes `waits` $waits (`records` $record^)? attr-dict";
}

def Plan_CollectiveOp : Plan_Command<"collective"> {
  let summary = "One collective of one channel; `sequence` counts per channel within the section.";
  let description = [{
    all_gather: `source` is this rank's range, `target` the whole. reduce_scatter: `source` the whole of this rank's contributions, `target` its
    range of the sum; `staging` takes what the peers send. Source and target may be in place. `element` is what is sent; a sum is
    computed in float32 and rounded once to `target_element` where that is there, else to `element`.
    `wire_bytes` is what each rank sends: (N - 1) / N x padded bytes of `element` (control_sum: (N - 1) x bytes).
    `label` is the bucket's name or what the control sum is of.
    The program goes on at once; `awaited_at` is the index of the command of this section before which it waits for the
    collective, as the schedule says: until then the bytes that the collective touches are not used again. `outlasts`: nothing in
    this section, which is `update`, waits for it; it is a gather of a parameter's state, and commands of the next step's `micro_first` wait
    for its event as `carried`. `early`: the first commands of `micro_first` may be gathers that are submitted in the `update` before, each when
    the commands that record these events of `update` have been, and wait for them; where no `update` ran just before, they are
    submitted with their section and wait for nothing. Their bytes are theirs in `update`, too.
  }];
  let arguments = (ins Plan_QueueKindAttr:$queue, DenseI64ArrayAttr:$waits, OptionalAttr<I64Attr>:$record,
                       Plan_CollectiveKindAttr:$kind, TypeAttr:$element, OptionalAttr<TypeAttr>:$target_element, Plan_SliceAttr:$source, Plan_SliceAttr:$target, OptionalAttr<Plan_SliceAttr>:$staging,
                       I64Attr:$sequence, I64Attr:$wire_bytes, OptionalAttr<I64Attr>:$awaited_at, StrAttr:$label,
                       OptionalAttr<DenseI64ArrayAttr>:$early, UnitAttr:$outlasts,
                       Plan_CarriedWaits:$carried);
  let extraClassDeclaration = [{
    /// The element of the target.
    ::mlir::Type getResultElement() { return getTargetElement().value_or(getElement()); }
  }];
  let hasVerifier = 1;
  let assemblyFormat = [{
    $kind $element (`as` $target_element^)? `on` $queue $source `to` $target (`staging` $staging^)? `waits` $waits (`records` $record^)? attr-dict
  }];
}

def Plan_CopyOp : Plan_Command<"copy"> {
  let summary = "Copies bytes; an explicit copy that placement could not avoid. `reason` says why.";
  let arguments = (ins Plan_QueueKindAttr:$queue, DenseI64ArrayAttr:$waits, OptionalAttr<I64Attr>:$record,
                       Plan_SliceAttr:$source, Plan_SliceAttr:$target, StrAttr:$reason, Plan_CarriedWaits:$carried);
  let assemblyFormat = "`on` $queue $source `to` $target `waits` $waits (`records` $record^)? attr-dict";
}

def Plan_ZeroOp : Plan_Command<"zero"> {
  let summary = "Writes zero bytes: padding of buckets.";
  let arguments = (ins Plan_QueueKindAttr:$queue, DenseI64ArrayAttr:$waits, OptionalAttr<I64Attr>:$record, Plan_Slices:$targets, Plan_CarriedWaits:$carried);
  let assemblyFormat = "`on` $queue $targets `waits` $waits (`records` $record^)? attr-dict";
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol]> {
  let summary = "A generated kernel. Holds the group's `func.func` of nn ops until codegen has made its object code.";
  let description = [{
    `body_function` is a private function of this module (operands = reads, results = writes). Scalars and whole tensors alike are
    pointers. `items` is the number of independent outputs that threads of a CPU may split; `launch`, of target cuda, how a GPU does.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$body_function, I64Attr:$items, OptionalAttr<Plan_LaunchAttr>:$launch);
  let assemblyFormat = "$sym_name attr-dict";
}

//===----------------------------------------------------------------------===//
// What the runtime fills and reads
//===----------------------------------------------------------------------===//

def Plan_InputOp : Plan_Op<"input", []> {
  let summary = "An array of one micro-batch that the data reader writes before each micro section, and before `predict`.";
  let description = [{
    `predict`: section `predict` reads it; where a plan has no other section, all inputs are such. `unbatched`: its first
    dimension (if there is one) does not count samples; it is the same for all of them.
    Integer values must lie in [0, limit) or, of labels, equal `ignore_index`; `limit` 0 means any. The reader checks, at the door.
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type, Plan_SliceAttr:$slice, UnitAttr:$label,
                       UnitAttr:$predict, UnitAttr:$unbatched, DefaultValuedAttr<I64Attr, "0">:$limit,
                       OptionalAttr<I64Attr>:$ignore_index);
  let assemblyFormat = "$name `:` $type `at` $slice attr-dict";
}

def Plan_OutputOp : Plan_Op<"output", []> {
  let summary = "An array that the executor reads after section `predict`; its buffer lives to the section's end.";
  let description = [{
    `batched`: the first dimension counts the samples of a micro-batch, or a number of rows of each sample.
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$type, Plan_SliceAttr:$slice, UnitAttr:$batched);
  let assemblyFormat = "$name `:` $type `at` $slice attr-dict";
}

def Plan_StateOp : Plan_Op<"state", []> {
  let summary = "A state of the run: where it is and what it starts from.";
  let description = [{
    `role` is the `nn.role` kind (parameter, frozen, gradient, exp_avg, ...), `name` the bucket's name (or the frozen tensor's). `sharded`: the
    slice is this rank's range of the bucket. `element` is there where it is not the bucket's. Parameters, masters and frozen
    weights start from the file's weights, scalars (loss_scale, scale_window_steps, scale_hysteresis) from their number, the rest
    from zero. `data` says where these bytes come from: `#nn.external` or an ElementsAttr for a frozen tensor or a scalar, an array of
    them (one for each slot of the bucket) for a parameter, whose master starts from the same.
  }];
  let arguments = (ins StrAttr:$role, StrAttr:$name, Plan_SliceAttr:$slice, UnitAttr:$sharded, OptionalAttr<TypeAttr>:$element,
                       OptionalAttr<AnyAttr>:$data);
  let assemblyFormat = "$role $name `at` $slice attr-dict";
}

def Plan_StepScalarOp : Plan_Op<"step_scalar", []> {
  let summary = "A 0-d f32 that the executor writes before `update`: learning_rate (`value` = base rate), bias_correction1/2 (`value` = beta), skip_non_finite (`value` = default).";
  let arguments = (ins StrAttr:$kind, F64Attr:$value, Plan_SliceAttr:$slice);
  let assemblyFormat = "$kind $value `at` $slice attr-dict";
}

def Plan_StepResultOp : Plan_Op<"step_result", []> {
  let summary = "A 0-d f32 or i64 that the executor reads after `update`: loss, grad_norm, label_count, skipped; or before it: loss_sum, the rank's own, and loss_scale, what the step's gradients were multiplied by.";
  let arguments = (ins StrAttr:$kind, TypeAttr:$element, Plan_SliceAttr:$slice);
  let assemblyFormat = "$kind $element `at` $slice attr-dict";
}

#endif
