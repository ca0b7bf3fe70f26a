//===- InsertRelease.cpp - zero-insert-release ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROINSERTRELEASE
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroInsertRelease : public impl::ZeroInsertReleaseBase<ZeroInsertRelease> {
public:
  using ZeroInsertReleaseBase::ZeroInsertReleaseBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-insert-release is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
