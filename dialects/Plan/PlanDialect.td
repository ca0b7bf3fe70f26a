//===- PlanDialect.td - The plan dialect: commands, queues, bytes ---------===//
#ifndef ZERO_DIALECTS_PLAN_PLANDIALECT_TD
#define ZERO_DIALECTS_PLAN_PLANDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::zero::plan";
  let summary = "What the executor does: one op = one record of compiled.bin.";
  let description = [{
    Buffers at offsets of arenas, sections of commands on queues, events between queues, collectives with sequence numbers.
    One plan serves all ranks: a slice with a rank stride is the only thing that differs. See dialects/Plan/README.md.

    `plan.target = "cuda"` on the module says what the kernels are for (absent: cpu). Beside it `plan.deterministic` or `plan.fast` (unit),
    `plan.tf32`, `plan.plain_products` and `plan.cudnn_convolutions` (unit) and `plan.cuda_workspace_bytes` (i64).
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Plan_MemoryKind : I32EnumAttr<"MemoryKind", "where an arena lives", [
  I32EnumAttrCase<"device", 0>, I32EnumAttrCase<"host_pinned", 1>]> {
  let cppNamespace = "::zero::plan"; let genSpecializedAttr = 0; }
def Plan_MemoryKindAttr : EnumAttr<Plan_Dialect, Plan_MemoryKind, "memory_kind">;

def Plan_ContentClass : I32EnumAttr<"ContentClass", "what a buffer holds", [
  I32EnumAttrCase<"parameters", 0>, I32EnumAttrCase<"gradients", 1>, I32EnumAttrCase<"optimizer", 2>,
  I32EnumAttrCase<"activations", 3>, I32EnumAttrCase<"buckets", 4>, I32EnumAttrCase<"staging", 5>,
  I32EnumAttrCase<"workspace", 6>, I32EnumAttrCase<"padding", 7>]> {
  let cppNamespace = "::zero::plan"; let genSpecializedAttr = 0; }
def Plan_ContentClassAttr : EnumAttr<Plan_Dialect, Plan_ContentClass, "content">;

def Plan_QueueKind : I32EnumAttr<"QueueKind", "an in-order queue: a stream or a worker thread", [
  I32EnumAttrCase<"compute", 0>, I32EnumAttrCase<"gather", 1>, I32EnumAttrCase<"reduce", 2>]> {
  let cppNamespace = "::zero::plan"; let genSpecializedAttr = 0; }
def Plan_QueueKindAttr : EnumAttr<Plan_Dialect, Plan_QueueKind, "queue">;

def Plan_CollectiveKind : I32EnumAttr<"CollectiveKind", "what ranks do together", [
  I32EnumAttrCase<"all_gather", 0>, I32EnumAttrCase<"reduce_scatter", 1>, I32EnumAttrCase<"control_sum", 2>]> {
  let cppNamespace = "::zero::plan"; let genSpecializedAttr = 0; }
def Plan_CollectiveKindAttr : EnumAttr<Plan_Dialect, Plan_CollectiveKind, "collective_kind">;

def Plan_SliceAttr : AttrDef<Plan_Dialect, "Slice"> {
  let mnemonic = "slice";
  let summary = "Bytes of a buffer: address = arena base + buffer offset + offset + rank * rank_stride.";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, "int64_t":$offset, "int64_t":$size, DefaultValuedParameter<"int64_t", "0">:$rankStride);
  let assemblyFormat = "`<` $buffer `,` $offset `,` $size (`,` `rank_stride` `=` $rankStride^)? `>`";
}
def Plan_LaunchAttr : AttrDef<Plan_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "How a generated kernel of target cuda is launched: blocks of the grid, threads of a block, bytes of shared memory that the launch adds.";
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads, "int64_t":$shared);
  let assemblyFormat = "`<` $blocks `,` $threads `,` $shared `>`";
}

class Plan_SliceArray : TypedArrayAttrBase<Plan_SliceAttr, "slices">;

#endif
