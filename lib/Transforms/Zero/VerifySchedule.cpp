//===- VerifySchedule.cpp - zero-verify-schedule ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROVERIFYSCHEDULE
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroVerifySchedule : public impl::ZeroVerifyScheduleBase<ZeroVerifySchedule> {
public:
  using ZeroVerifyScheduleBase::ZeroVerifyScheduleBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-verify-schedule is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
