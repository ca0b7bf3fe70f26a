//===- ZeroToPlan.cpp - zero-to-plan ---===//
#include "zero/Conversion/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROTOPLAN
#include "zero/Conversion/Passes.h.inc"

namespace {
class ZeroToPlan : public impl::ZeroToPlanBase<ZeroToPlan> {
public:
  using ZeroToPlanBase::ZeroToPlanBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-to-plan is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
