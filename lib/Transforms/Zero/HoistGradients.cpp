//===- HoistGradients.cpp - zero-hoist-gradients --------------------------===//
//
//   %dx = nn.matmul %dy, %w
//   %dw = nn.matmul %x, %dy
//   %p = zero.pack @b0 (%dw)
//   %f = zero.reduce_scatter_start %p
// becomes
//   %dw = nn.matmul %x, %dy
//   %p = zero.pack @b0 (%dw)
//   %f = zero.reduce_scatter_start %p
//   %dx = nn.matmul %dy, %w
// Test: test/Transforms/Zero/hoist-gradients.mlir
//
//===----------------------------------------------------------------------===//
#include "BlockOrder.h"
#include "StepFunctions.h"
#include "zero/Transforms/Zero/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROHOISTGRADIENTS
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

/// The reduction that sends what `pack` holds, and what stands between; empty where it is accumulated first.
SmallVector<Operation *, 2> getSenders(PackOp pack) {
  SmallVector<Operation *, 2> senders;
  for (Value sent = pack.getResult(); sent.hasOneUse();) {
    Operation *user = *sent.user_begin();
    if (!isa<ConvertOp, ReduceScatterStartOp, AllReduceStartOp>(user))
      break;
    senders.push_back(user);
    if (!isa<ConvertOp>(user))
      return senders;
    sent = user->getResult(0);
  }
  return {};
}

class ZeroHoistGradients : public impl::ZeroHoistGradientsBase<ZeroHoistGradients> {
public:
  using ZeroHoistGradientsBase::ZeroHoistGradientsBase;
  void runOnOperation() override {
    int64_t moved = 0;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      BlockOrder order(function.front());
      llvm::DenseSet<Operation *> hoisted;
      for (PackOp pack : llvm::to_vector(function.front().getOps<PackOp>())) {
        SmallVector<Operation *, 2> senders = getSenders(pack);
        if (senders.empty())
          continue;
        llvm::SetVector<Operation *> moving;
        for (Value gradient : pack.getGradients())
          if (Operation *producer = gradient.getDefiningOp(); producer && isMemoryEffectFree(producer))
            moving.insert(producer);
        moving.insert(pack);
        moving.insert_range(senders);
        SmallVector<Operation *> ordered(moving.begin(), moving.end());
        llvm::sort(ordered, [&](Operation *a, Operation *b) { return order.isBefore(a, b); });
        for (Operation *op : ordered)
          moved += hoist(op, order, hoisted);
      }
    }
    if (report)
      emitRemark(getOperation().getLoc()) << "moved " << moved << " ops up";
  }

private:
  /// Moves `op` behind the last of its operands, and behind those that were moved there before.
  static bool hoist(Operation *op, BlockOrder &order, llvm::DenseSet<Operation *> &hoisted) {
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && (!last || order.isBefore(last, producer)))
        last = producer;
    Operation *target = last ? last->getNextNode() : &op->getBlock()->front();
    while (target != op && hoisted.contains(target))
      target = target->getNextNode();
    hoisted.insert(op);
    if (target == op)
      return false;
    order.moveBefore(op, target);
    return true;
  }
};

} // namespace
} // namespace zero
