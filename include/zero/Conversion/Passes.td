//===- Passes.td - Passes in which two dialects meet ----------------------===//
#ifndef ZERO_CONVERSION_PASSES_TD
#define ZERO_CONVERSION_PASSES_TD
include "mlir/Pass/PassBase.td"

def NNLeaveOutOutputs : Pass<"nn-leave-out-outputs", "::mlir::ModuleOp"> {
  let summary = "Leaves out outputs of @predict that the target cannot compute, where a loss is trained.";
  let description = [{
    Before `nn-form-groups`. A copy of `@predict` is grouped and converted to a plan; where that fails, each output by itself. What fails
    is dropped with a remark that gives the reason; a `@predict` without outputs goes. Without `@micro` nothing is done: there the
    outputs are all there is, and what cannot be computed is an error of the passes that follow.

    Input:  `@predict(..) -> (output "y", output "s") { .. %s = nn.cumsum .. }`
    Output: `@predict(..) -> (output "y") { .. }`
    (* example: test/Conversion/leave-out-outputs.mlir *)
  }];
  let dependentDialects = ["::zero::plan::PlanDialect", "::zero::nn::NNDialect"];
}

def ZeroToPlan : Pass<"zero-to-plan", "::mlir::ModuleOp"> {
  let summary = "Turns the scheduled functions @micro, @update and @predict into sections of commands on buffers.";
  let description = [{
    `@micro` becomes section `micro_first` and, where it takes accumulators, `micro_next`; `@update` becomes
    `update`, `@predict` becomes `predict`; a module has a step's two, or `@predict`, or all three. Values with a
    role are state buffers, but outputs of `@predict`, whose buffers live to the end of that section. A value that becomes part of another (a gradient of a
    bucket, an operand of a concat, a new state) is computed where that is to lie; a `plan.copy` with its
    reason stands where a later read forbids it. Views cost nothing, slices and transposes that matmul and
    attention can read by strides neither. Groups become kernels, equal ones share one.

    Attributes read, besides `nn.role`:
    - `nn.data` on a parameter's bucket argument of `@micro`: an array, one for each slot; on a frozen
      argument: one;
    - `zero.whole_buffer` (unit) on the result of `@micro` of role gradient: the state keeps the whole local
      bucket, of which the value is this rank's range (gradients that are not sharded, of a sharded
      optimizer);
    - `nn.limit`, `nn.ignore_index` (i64) on an input or label argument: integers lie in [0, limit) or are
      `ignore_index`; the size of the axis that a `nn.gather` reads by an input is a limit, too;
    - `nn.data` (f64) on `@update`'s learning_rate (the base rate), bias_correction1, 2 (beta1, beta2) and skip_non_finite (its
      default).

    Input:  `func.func @micro(..) { .. zero.pack @b0 (%g) .. }`
    Output: `plan.section @micro_first { plan.dispatch "matmul" on compute .. writes [#plan.slice<@gradient.b0, 0, 256>] .. }`
    (* example: test/Conversion/zero-to-plan.mlir *)
  }];
  let dependentDialects = ["::zero::plan::PlanDialect"];
}
#endif
