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
// and at the end of @update
//   %b = zero.wait %f
// becomes
//   %b = zero.wait %f {next_step}
// Test: test/Transforms/Zero/sink-waits.mlir
//
//===----------------------------------------------------------------------===//
#include "BlockOrder.h"
#include "Gathers.h"
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

/// The elements in flight at each start of a gather. Gathers that are returned are states: no limit counts them.
class ElementsInFlight {
public:
  ElementsInFlight(Block &block, ArrayRef<Gather> gathers, int64_t limit) : limit(limit) {
    llvm::DenseMap<Operation *, int64_t> starts;
    for (const Gather &gather : gathers)
      if (gather.wait && !gather.returned) {
        starts[gather.start] = gather.elements;
        elements[gather.wait] = gather.elements;
      }
    int64_t sum = 0;
    for (Operation &op : block) {
      if (auto start = starts.find(&op); start != starts.end())
        atStart[&op] = sum += start->second;
      sum -= elements.lookup(&op);
    }
  }

  /// The first start before `target` that `wait` may not stand behind; `target` where there is none.
  Operation *getLimit(Operation *wait, Operation *target) const {
    int64_t own = elements.lookup(wait);
    if (limit < 0 || own == 0)
      return target;
    for (Operation *op = wait->getNextNode(); op != target; op = op->getNextNode())
      if (auto start = atStart.find(op); start != atStart.end() && start->second + own > limit)
        return op;
    return target;
  }

  /// To be called before the wait moves.
  void move(Operation *wait, Operation *target) {
    if (int64_t own = elements.lookup(wait))
      for (Operation *op = wait->getNextNode(); op != target; op = op->getNextNode())
        if (auto start = atStart.find(op); start != atStart.end())
          start->second += own;
  }

private:
  int64_t limit;
  llvm::DenseMap<Operation *, int64_t> atStart, elements;
};

class ZeroSinkWaits : public impl::ZeroSinkWaitsBase<ZeroSinkWaits> {
public:
  using ZeroSinkWaitsBase::ZeroSinkWaitsBase;
  void runOnOperation() override {
    int64_t sunk = 0;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      if (function.getSymName() == "update")
        leaveToNextStep(function);
      auto waits = llvm::to_vector(function.front().getOps<WaitOp>());
      ElementsInFlight inFlight(function.front(), collectGathers(function), prefetchElements);
      BlockOrder order(function.front());
      int64_t largest = 0;
      for (Operation &op : function.front())
        if (isReductionStart(&op))
          largest = std::max(largest, getReducedElements(&op));
      for (WaitOp wait : llvm::reverse(waits))
        sunk += sink(wait, order, inFlight, largest);
    }
    if (report)
      emitRemark(getOperation().getLoc()) << "moved " << sunk << " waits down";
  }

private:
  /// Ops that go where their operand goes: they cost nothing by themselves, or belong to the wait.
  static bool follows(Operation *op) { return isBucketView(op) || isa<AccumulateOp>(op); }

  /// Where nothing of @update reads what it gathers, the new parameters, the next step's @micro waits: each bucket's first reader for
  /// its own. All or none: one channel runs them in order.
  static void leaveToNextStep(func::FuncOp update) {
    SmallVector<WaitOp> waits;
    for (auto start : update.front().getOps<AllGatherStartOp>()) {
      auto wait = start.getFuture().hasOneUse() ? dyn_cast<WaitOp>(*start.getFuture().user_begin()) : WaitOp();
      if (!wait || !isNewParameter(update, wait))
        return;
      waits.push_back(wait);
    }
    for (WaitOp wait : waits)
      wait.setNextStep(true);
  }

  bool sink(WaitOp wait, BlockOrder &order, ElementsInFlight &inFlight, int64_t largestReduction) {
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
    if (Operation *next = getNextReduction(wait, largestReduction); next && order.isBefore(next, target))
      target = next;
    target = inFlight.getLimit(wait, target);
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
    inFlight.move(wait, target);
    // In program order, so that operands stay before their uses; a follower that stands behind the target may
    // stay there.
    SmallVector<Operation *> ordered(moving.begin(), moving.end());
    llvm::sort(ordered, [&](Operation *a, Operation *b) { return order.isBefore(a, b); });
    for (Operation *op : ordered)
      if (order.isBefore(op, target))
        order.moveBefore(op, target);
    return true;
  }

  static int64_t getReducedElements(Operation *start) { return getBucket(start, start->getOperand(0).getType()).getElements(); }

  /// The start of a reduction that `wait` must stand before, if the contributions of the one waited for lie in memory of their own: so
  /// that those in flight and those that are gathered for the next one are never more than two of the largest bucket.
  Operation *getNextReduction(WaitOp wait, int64_t largest) {
    Operation *start = wait.getFuture().getDefiningOp();
    if (!start || !isReductionStart(start) || isa<BlockArgument>(start->getOperand(0)))
      return nullptr;
    int64_t inFlight = getReducedElements(start);
    Operation *before = nullptr; // the next one, while it is looked at what comes behind
    for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
      if (!isReductionStart(op))
        continue;
      const int64_t elements = getReducedElements(op);
      if (before && inFlight + elements > 2 * largest)
        return before;
      inFlight += elements;
      before = op;
    }
    return before;
  }
};

} // namespace
} // namespace zero
