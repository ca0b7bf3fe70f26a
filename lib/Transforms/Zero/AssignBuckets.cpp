//===- AssignBuckets.cpp - zero-assign-buckets ---===//
#include "zero/Transforms/Zero/Passes.h"

namespace zero {
#define GEN_PASS_DEF_ZEROASSIGNBUCKETS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {
class ZeroAssignBuckets : public impl::ZeroAssignBucketsBase<ZeroAssignBuckets> {
public:
  using ZeroAssignBucketsBase::ZeroAssignBucketsBase;
  void runOnOperation() override {
    getOperation().emitError("pass zero-assign-buckets is not written yet");
    signalPassFailure();
  }
};
} // namespace
} // namespace zero
