//===- FormGroups.cpp - nn-form-groups ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNFORMGROUPS
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNFormGroups : public impl::NNFormGroupsBase<NNFormGroups> {
public:
  using NNFormGroupsBase::NNFormGroupsBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-form-groups is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
