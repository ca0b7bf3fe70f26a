//===- PrefetchGathers.cpp - zero-prefetch-gathers ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROPREFETCHGATHERS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroPrefetchGathers : public impl::ZeroPrefetchGathersBase<ZeroPrefetchGathers> {
public:
  using ZeroPrefetchGathersBase::ZeroPrefetchGathersBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-prefetch-gathers is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
