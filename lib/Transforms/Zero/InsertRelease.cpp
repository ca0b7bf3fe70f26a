//===- InsertRelease.cpp - zero-insert-release ----------------------------===//
//
//   %b = zero.wait %f  %w = zero.view %b["w"]  %t = nn.transpose %w [1, 0]
//   %y = nn.matmul %x, %t
//   %z = nn.relu %y
// becomes
//   %b = zero.wait %f  %w = zero.view %b["w"]  %t = nn.transpose %w [1, 0]
//   %y = nn.matmul %x, %t
//   zero.release %b
//   %z = nn.relu %y
// Test: test/Transforms/Zero/insert-release.mlir
//
//===----------------------------------------------------------------------===//
#include "Gathers.h"
#include "StepFunctions.h"
#include "zero/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROINSERTRELEASE
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

class ZeroInsertRelease : public impl::ZeroInsertReleaseBase<ZeroInsertRelease> {
public:
  using ZeroInsertReleaseBase::ZeroInsertReleaseBase;
  void runOnOperation() override {
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      for (ReleaseOp release : llvm::make_early_inc_range(function.front().getOps<ReleaseOp>()))
        release.erase();
      eraseDead(function);
      for (Gather &gather : collectGathers(function)) {
        if (gather.returned || !gather.lastUse)
          continue;
        OpBuilder builder(&getContext());
        builder.setInsertionPointAfter(gather.lastUse);
        ReleaseOp::create(builder, gather.wait.getLoc(), gather.wait.getResult());
      }
    }
  }

private:
  /// What nothing but a release kept alive.
  static void eraseDead(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
} // namespace zero
