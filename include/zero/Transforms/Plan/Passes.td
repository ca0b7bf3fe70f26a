//===- Passes.td - Passes over the plan dialect ---------------------------===//
#ifndef ZERO_TRANSFORMS_PLAN_PASSES_TD
#define ZERO_TRANSFORMS_PLAN_PASSES_TD
include "mlir/Pass/PassBase.td"

def PlanAssignOffsets : Pass<"plan-assign-offsets", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its offset; bytes are used again when their holder is dead.";
  let description = [{
    State buffers lie one after the other for the whole run. Behind them lie the buffers that live within
    sections, all sections in the same bytes; a buffer lives from its first to its last access, and what a
    collective touches until the program waits for it, what an early gather touches in `update`, too, from the last write to what is
    gathered on. Offsets are multiples of 64, of target cuda 256; an arena's size is the end of its highest buffer.

    Input:  `a = f(); b = g(a); c = h(b)`, buffers without offsets
    Output: the same, with `c` at the offset of `a`
    (* example: test/Transforms/Plan/assign-offsets.mlir *)
  }];
  let statistics = [Statistic<"arenaBytes", "arena-bytes", "Bytes of all arenas">,
                    Statistic<"lowerBoundBytes", "lower-bound-bytes", "Bytes that no packing can save">,
                    Statistic<"packingSteps", "packing-steps", "Pairs of buffers that live at once and were looked at, or buffers where those are too many">];
}
def PlanInsertEvents : Pass<"plan-insert-events", "::mlir::ModuleOp"> {
  let summary = "Orders accesses to the same bytes from different queues by events, none of them redundant.";
  let description = [{
    Two commands of different queues of which one writes bytes that the other touches keep their order in the
    section: the later one waits for an event that the earlier one records. No event is there whose order
    others imply. Commands of `micro_first` so wait for collectives that outlast `update` (`carried`), and its early gathers for commands of
    `update` (`early`). Old waits and events are erased first.
    Runs after `plan-assign-offsets`: buffers that share bytes need events, too.

    Input:  `collective on gather writes a; dispatch on compute reads a`
    Output: `collective on gather writes a records 0; dispatch on compute reads a waits [0]`
    (* example: test/Transforms/Plan/insert-events.mlir *)
  }];
  let statistics = [Statistic<"events", "events", "Events recorded">];
}
def PlanVerify : Pass<"plan-verify", "::mlir::ModuleOp"> {
  let summary = "Proves of a plan: no race, no stale byte, no wrong collective, no redundant event, every parameter updated from a sum.";
  let description = [{
    Checks what `zero-to-plan`, `plan-assign-offsets` and `plan-insert-events` promise, without their code:
    - names resolve; slices lie in buffers, for every rank, and buffers in arenas; a generated kernel gets slices of the sizes that
      its function names; each channel (queue) numbers its collectives from 0, and their counts, element types, staging and
      traffic fit each other on all ranks;
    - events are recorded once, before they are waited for, and none is redundant: no other wait implies it, and the two commands
      touch the same bytes;
    - for every two accesses of different queues to overlapping bytes, one of them a write, events order them. All queues are idle
      between sections, so that this holds over sections and steps; what outlasts `update`, gathers into states of parameters, is
      proved against every command of `micro_first`, and its early gathers against those of `update`;
    - no command writes over what it reads or writes itself, but where its kernel or collective can compute in place; slices of one buffer that
      a kernel of the library goes through in strides may interleave;
    - what a command reads was written for it: through the same buffer, by this rank (of a sum over ranks that each rank has its range
      of, that range alone), in this section or, of states, in this step or before the run (`plan.state`, `plan.input` and
      `plan.step_scalar` say what the runtime fills and when). `micro_next` leaves what it finds;
    - at N > 1 bytes are the same on all ranks, each rank's range of one thing, or what this rank's data give. Gathers are of ranges,
      sums of parts that are not summed yet; after a step states are what they were before it; each parameter was written from as
      many bytes that are a sum over all ranks; what is printed is the same on all ranks.

    - an arena ends where its last buffer does; gathers and reductions move the whole of the bucket that they name, in its element
      type; a control sum is called what it is of; nothing uses what a collective has before `awaited_at`;
    - the configuration says what the records do: ranks, micro-batch size, learning rate, decay rates, whether a step has several
      micro-batches. No index or label gets in (`limit`, `ignore_index`) that the kernels have no place for.

    A fact that stands in one record only has nothing to be held against: how many micro-batches a step has, where it has several;
    `limit` of an input that no kernel indexes by, and how much smaller one is than it need be; names for reports.

    Input:  `collective on gather writes a; dispatch on compute reads a`, without events
    Output: error: reads bytes of a, which an earlier command of queue gather writes, and no event orders them
    (* example: test/Transforms/Plan/verify.mlir *)
  }];
}
def PlanVerifyKernels : Pass<"plan-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Every dispatch is of a generated kernel, or of one of the library that takes its parameters.";
  let description = [{
    `zero-run` would refuse the program at its start; the library itself is asked here, as it will be there.

    Input:  `dispatch "matmull" ..`
    Output: error: there is no kernel 'matmull'; the nearest known one is 'matmul'
    (* example: test/Transforms/Plan/verify-kernels.mlir *)
  }];
}
#endif
