//===- InsertCollectives.cpp - zero-insert-collectives ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROINSERTCOLLECTIVES
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroInsertCollectives : public impl::ZeroInsertCollectivesBase<ZeroInsertCollectives> {
public:
  using ZeroInsertCollectivesBase::ZeroInsertCollectivesBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-insert-collectives is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
