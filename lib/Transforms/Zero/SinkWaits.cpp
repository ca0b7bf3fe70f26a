//===- SinkWaits.cpp - zero-sink-waits ------------------------------------===//
//
//   %f = zero.all_gather_start %s
//   %b = zero.wait %f  %w = zero.view %b["w"]
//   %y = nn.matmul %x, %v
//   %z = nn.matmul %y, %w
// becomes
//   %f = zero.all_gather_start %s
//   %y = nn.matmul %x, %v
//   %b = zero.wait %f  %w = zero.view %b["w"]
//   %z = nn.matmul %y, %w
// Test: test/Transforms/Zero/sink-waits.mlir
//
//===----------------------------------------------------------------------===//
#include "BlockOrder.h"
#include "ParameterChains.h"
#include "StepFunctions.h"
#include "zero/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROSINKWAITS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

bool isReductionStart(Operation *op) { return isa<ReduceScatterStartOp, AllReduceStartOp>(op); }

class ZeroSinkWaits : public impl::ZeroSinkWaitsBase<ZeroSinkWaits> {
public:
  using ZeroSinkWaitsBase::ZeroSinkWaitsBase;
  void runOnOperation() override {
    int64_t sunk = 0;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      auto waits = llvm::to_vector(function.front().getOps<WaitOp>());
      BlockOrder order(function.front());
      for (WaitOp wait : llvm::reverse(waits))
        sunk += sink(wait, order);
    }
    if (report)
      emitRemark(getOperation().getLoc()) << "moved " << sunk << " waits down";
  }

private:
  /// Ops that go where their operand goes: they cost nothing by themselves, or belong to the wait.
  static bool follows(Operation *op) { return isBucketView(op) || isa<AccumulateOp>(op); }

  bool sink(WaitOp wait, BlockOrder &order) {
    llvm::SetVector<Operation *> moving;
    moving.insert(wait);
    Operation *target = wait->getBlock()->getTerminator();
    for (size_t i = 0; i < moving.size(); ++i) {
      for (Operation *user : moving[i]->getUsers()) {
        if (follows(user))
          moving.insert(user);
        else if (order.isBefore(user, target))
          target = user;
      }
    }
    if (Operation *next = getNextReduction(wait); next && order.isBefore(next, target))
      target = next;
    const bool toEnd = target->hasTrait<OpTrait::IsTerminator>();
    // Waits keep their order before one op.
    while (Operation *before = target->getPrevNode()) {
      if (moving.contains(before) || !(isa<WaitOp>(before) || follows(before)))
        break;
      target = before;
    }
    // Worth it where something runs in between. Starts do not count before a first use: to wait behind them would put more
    // in flight and hide nothing.
    Operation *behind = wait->getNextNode();
    while (behind != target && (isa<WaitOp>(behind) || follows(behind) || (!toEnd && isa<AllGatherStartOp>(behind))))
      behind = behind->getNextNode();
    if (behind == target)
      return false;
    // In program order, so that operands stay before their uses; a follower that stands behind the target may
    // stay there.
    SmallVector<Operation *> ordered(moving.begin(), moving.end());
    llvm::sort(ordered, [&](Operation *a, Operation *b) { return order.isBefore(a, b); });
    for (Operation *op : ordered)
      if (order.isBefore(op, target))
        order.moveBefore(op, target);
    return true;
  }

  /// The reduction that is to start next, if the contributions of the one waited for lie in memory of their
  /// own.
  Operation *getNextReduction(WaitOp wait) {
    Operation *start = wait.getFuture().getDefiningOp();
    if (!start || !isReductionStart(start) || isa<BlockArgument>(start->getOperand(0)))
      return nullptr;
    for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
      if (isReductionStart(op))
        return op;
    return nullptr;
  }
};

} // namespace
} // namespace zero
