//===- DecomposeComposites.cpp - nn-decompose-composites ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNDECOMPOSECOMPOSITES
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNDecomposeComposites : public impl::NNDecomposeCompositesBase<NNDecomposeComposites> {
public:
  using NNDecomposeCompositesBase::NNDecomposeCompositesBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-decompose-composites is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
