//===- AppendOptimizer.cpp - nn-append-optimizer ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNAPPENDOPTIMIZER
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNAppendOptimizer : public impl::NNAppendOptimizerBase<NNAppendOptimizer> {
public:
  using NNAppendOptimizerBase::NNAppendOptimizerBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-append-optimizer is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
