//===- Verify.cpp - plan-verify ---===//
#include "zero/Transforms/Plan/Passes.h"

namespace zero {
#define GEN_PASS_DEF_PLANVERIFY
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {
class PlanVerify : public impl::PlanVerifyBase<PlanVerify> {
public:
  using PlanVerifyBase::PlanVerifyBase;
  void runOnOperation() override {
    getOperation().emitError("pass plan-verify is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
