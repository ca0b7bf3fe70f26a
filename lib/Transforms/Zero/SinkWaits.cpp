//===- SinkWaits.cpp - zero-sink-waits ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROSINKWAITS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroSinkWaits : public impl::ZeroSinkWaitsBase<ZeroSinkWaits> {
public:
  using ZeroSinkWaitsBase::ZeroSinkWaitsBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-sink-waits is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
