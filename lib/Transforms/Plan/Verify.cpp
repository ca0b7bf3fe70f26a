//===- Verify.cpp - plan-verify -------------------------------------------===//
//
// Changes nothing. What it refuses, for example (buffers of 64 bytes):
//
//   plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits []
//   plan.collective all_gather f32 on gather <@a, 0, 32> to <@b, 0, 64> waits []
//   error: reads bytes 0..32 of @a, which an earlier command of queue compute writes, and no event orders them
//
// The proof is its own: it shares no code with plan-insert-events.
// Tests: test/Transforms/Plan/verify.mlir, verify-scalars.test, verify-steps.mlir, verify-states.mlir, verify-facts.test, verify-operands.mlir
//
//===----------------------------------------------------------------------===//
#include "VerifyBytes.h"
#include "VerifyConfig.h"
#include "VerifyInputs.h"
#include "VerifyOperands.h"
#include "VerifyRecords.h"
#include "VerifyScalars.h"
#include "VerifyStates.h"
#include "zero/Transforms/Plan/Passes.h"

namespace zero {
#define GEN_PASS_DEF_PLANVERIFY
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

class PlanVerify : public impl::PlanVerifyBase<PlanVerify> {
public:
  using PlanVerifyBase::PlanVerifyBase;
  void runOnOperation() override {
    if (failed(verifyConfig(getOperation())) || failed(verifyRecords(getOperation())) || failed(verifyPlanStates(getOperation())) ||
        failed(verifyPlanScalars(getOperation())) || failed(verifyInputs(getOperation())) || failed(verifyOperands(getOperation())) ||
        failed(verifyBytes(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace zero
