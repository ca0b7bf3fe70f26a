//===- VerifyTrainingGraph.cpp - nn-verify-training-graph ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNVERIFYTRAININGGRAPH
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNVerifyTrainingGraph : public impl::NNVerifyTrainingGraphBase<NNVerifyTrainingGraph> {
public:
  using NNVerifyTrainingGraphBase::NNVerifyTrainingGraphBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-verify-training-graph is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
