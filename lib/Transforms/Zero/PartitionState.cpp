//===- PartitionState.cpp - zero-partition-state ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROPARTITIONSTATE
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroPartitionState : public impl::ZeroPartitionStateBase<ZeroPartitionState> {
public:
  using ZeroPartitionStateBase::ZeroPartitionStateBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-partition-state is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
