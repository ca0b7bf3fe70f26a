//===- BindBatch.cpp - nn-bind-batch ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNBINDBATCH
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNBindBatch : public impl::NNBindBatchBase<NNBindBatch> {
public:
  using NNBindBatchBase::NNBindBatchBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-bind-batch is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
