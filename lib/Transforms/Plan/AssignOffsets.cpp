//===- AssignOffsets.cpp - plan-assign-offsets ---===//
#include "zero/Transforms/Plan/Passes.h"

namespace zero {
#define GEN_PASS_DEF_PLANASSIGNOFFSETS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {
class PlanAssignOffsets : public impl::PlanAssignOffsetsBase<PlanAssignOffsets> {
public:
  using PlanAssignOffsetsBase::PlanAssignOffsetsBase;
  void runOnOperation() override {
    getOperation().emitError("pass plan-assign-offsets is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
