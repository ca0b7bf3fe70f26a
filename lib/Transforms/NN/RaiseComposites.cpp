//===- RaiseComposites.cpp - nn-raise-composites ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNRAISECOMPOSITES
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNRaiseComposites : public impl::NNRaiseCompositesBase<NNRaiseComposites> {
public:
  using NNRaiseCompositesBase::NNRaiseCompositesBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-raise-composites is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
