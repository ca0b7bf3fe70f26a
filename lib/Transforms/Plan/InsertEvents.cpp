//===- InsertEvents.cpp - plan-insert-events ---===//
#include "zero/Transforms/Plan/Passes.h"

namespace zero {
#define GEN_PASS_DEF_PLANINSERTEVENTS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {
class PlanInsertEvents : public impl::PlanInsertEventsBase<PlanInsertEvents> {
public:
  using PlanInsertEventsBase::PlanInsertEventsBase;
  void runOnOperation() override {
    getOperation().emitError("pass plan-insert-events is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
