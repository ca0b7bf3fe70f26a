//===- VerifyImport.cpp - nn-verify-import ---===//
#include "zero/Transforms/NN/Passes.h"

namespace zero {
#define GEN_PASS_DEF_NNVERIFYIMPORT
#include "zero/Transforms/NN/Passes.h.inc"

namespace {
class NNVerifyImport : public impl::NNVerifyImportBase<NNVerifyImport> {
public:
  using NNVerifyImportBase::NNVerifyImportBase;
  void runOnOperation() override {
    getOperation().emitError("pass nn-verify-import is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
