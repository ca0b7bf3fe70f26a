//===- BuildBackward.cpp - nn-build-backward ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNBUILDBACKWARD
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNBuildBackward : public impl::NNBuildBackwardBase<NNBuildBackward> {
public:
  using NNBuildBackwardBase::NNBuildBackwardBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-build-backward is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
