//===- Passes.td - Passes in which two dialects meet ----------------------===//
#ifndef ZERO_CONVERSION_PASSES_TD
#define ZERO_CONVERSION_PASSES_TD
include "mlir/Pass/PassBase.td"

def ZeroToPlan : Pass<"zero-to-plan", "::mlir::ModuleOp"> {
  let summary = "Turns the scheduled functions @micro and @update into sections of commands on buffers.";
  let dependentDialects = ["::zero::plan::PlanDialect"];
}
#endif
