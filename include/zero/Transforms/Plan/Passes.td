//===- Passes.td - Passes over the plan dialect ---------------------------===//
#ifndef ZERO_TRANSFORMS_PLAN_PASSES_TD
#define ZERO_TRANSFORMS_PLAN_PASSES_TD
include "mlir/Pass/PassBase.td"

def PlanAssignOffsets : Pass<"plan-assign-offsets", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its offset; bytes are used again when their holder is dead.";
  let description = [{
    State buffers lie one after the other for the whole run. Behind them lie the buffers that live within
    sections, all sections in the same bytes; a buffer lives from its first to its last access, and what a
    collective touches until the program waits for it. Offsets are multiples of 64; an arena's size is the end
    of its highest buffer.

    Input:  `a = f(); b = g(a); c = h(b)`, buffers without offsets
    Output: the same, with `c` at the offset of `a`
    (* example: test/Transforms/Plan/assign-offsets.mlir *)
  }];
  let statistics = [Statistic<"arenaBytes", "arena-bytes", "Bytes of all arenas">,
                    Statistic<"lowerBoundBytes", "lower-bound-bytes", "Bytes that no packing can save">];
}
def PlanInsertEvents : Pass<"plan-insert-events", "::mlir::ModuleOp"> {
  let summary = "Orders accesses to the same bytes from different queues by events, none of them redundant.";
  let description = [{
    Two commands of different queues of which one writes bytes that the other touches keep their order in the
    section: the later one waits for an event that the earlier one records. No event is there whose order
    others imply. Old waits and events are erased first. Runs after `plan-assign-offsets`: buffers that share
    bytes need events, too.

    Input:  `collective on gather writes a; dispatch on compute reads a`
    Output: `collective on gather writes a records 0; dispatch on compute reads a waits [0]`
    (* example: test/Transforms/Plan/insert-events.mlir *)
  }];
  let statistics = [Statistic<"events", "events", "Events recorded">];
}
def PlanVerify : Pass<"plan-verify", "::mlir::ModuleOp"> {
  let summary = "Proves that overlapping accesses from different queues are ordered and that every slice lies in its buffer.";
  let description = [{
    Checks what `zero-to-plan`, `plan-assign-offsets` and `plan-insert-events` promise, without their code:
    names resolve; slices lie in buffers, for every rank, and buffers in arenas; events are recorded once,
    before they are waited for; each channel (queue) numbers its collectives from 0; for every two accesses of
    different queues to overlapping bytes, one of them a write, events order them; and no command reads bytes
    of a buffer that nothing wrote in this section, or that another buffer has written since. All queues are
    idle between sections, so this holds over steps.
    (* example: test/Transforms/Plan/verify.mlir *)
  }];
}
#endif
