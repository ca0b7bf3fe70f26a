//===- Passes.td - Passes over the plan dialect ---------------------------===//
#ifndef ZERO_TRANSFORMS_PLAN_PASSES_TD
#define ZERO_TRANSFORMS_PLAN_PASSES_TD
include "mlir/Pass/PassBase.td"

def PlanAssignOffsets : Pass<"plan-assign-offsets", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its offset; bytes are used again when their holder is dead.";
}
def PlanInsertEvents : Pass<"plan-insert-events", "::mlir::ModuleOp"> {
  let summary = "Orders accesses to the same bytes from different queues by events, none of them redundant.";
}
def PlanVerify : Pass<"plan-verify", "::mlir::ModuleOp"> {
  let summary = "Proves that overlapping accesses from different queues are ordered and that every slice lies in its buffer.";
}
#endif
