//===- ScheduleMutants.cpp - Schedules without a wait, a release, a sum ---===//
#include "Mutants.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero::test {

/// Values of that type that stand before `op`, nearest first.
static SmallVector<Value> findSubstitutes(Operation *op, Type type) {
  SmallVector<Value> values;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    for (Value result : before->getResults())
      if (result.getType() == type)
        values.push_back(result);
  for (BlockArgument argument : op->getBlock()->getArguments())
    if (argument.getType() == type)
      values.push_back(argument);
  return values;
}

/// Takes `op`, and what only it used, out of the program; its value is `instead`.
static void erase(Operation *op, Value instead) {
  op->getResult(0).replaceAllUsesWith(instead);
  Operation *start = isa<WaitOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr;
  op->erase();
  if (start && start->use_empty())
    start->erase();
}

/// The clone of `op` in a copy of the module.
static Operation *findClone(IRMapping &mapping, Operation *op) { return mapping.lookup(op); }

/// Exchanges gradients of one type in zero.packs, and parameters of one shape in zero.views. Of weights, which are multiplied, that
/// shows always; of biases and scales, where a product lies between the two.
static void mutateNames(ModuleOp module, Trial &trial) {
  struct Operand {
    OpOperand *value;
    bool weight;
  };
  SmallVector<Operand> packed;
  SmallVector<std::pair<ViewOp, SlotAttr>> views;
  auto micro = module.lookupSymbol<func::FuncOp>("micro");
  for (Operation &op : micro.front()) {
    if (auto pack = dyn_cast<PackOp>(op))
      for (OpOperand &operand : op.getOpOperands())
        packed.push_back({&operand, cast<RankedTensorType>(operand.get().getType()).getRank() > 1});
    auto view = dyn_cast<ViewOp>(op);
    if (!view || view.getType().getRank() < 2)
      continue;
    FlatSymbolRefAttr bucket = getBucketSymbol(view.getBucket().getType());
    for (auto slot : SymbolTable::lookupNearestSymbolFrom<BucketOp>(view, bucket).getSlots().getAsRange<SlotAttr>())
      if (slot.getName() != view.getSlot() && slot.getShape() == view.getType().getShape())
        views.push_back({view, slot});
  }
  SmallVector<std::pair<Operand, Operand>> pairs;
  for (auto [index, one] : llvm::enumerate(packed))
    for (Operand other : ArrayRef(packed).drop_front(index + 1))
      if (one.value->get().getType() == other.value->get().getType() && one.value->get() != other.value->get() &&
          other.value->get().getDefiningOp()->isBeforeInBlock(one.value->getOwner()))
        pairs.push_back({one, other});
  for (size_t index : trial.choose(pairs.size())) {
    auto [one, other] = pairs[index];
    Value before = one.value->get(), after = other.value->get();
    one.value->set(after);
    other.value->set(before);
    if (one.weight)
      trial.expectRefusal("gradient of its own weight", module, one.value->getOwner());
    else
      trial.count("gradient of its own vector", module);
    one.value->set(before);
    other.value->set(after);
  }
  for (size_t index : trial.choose(views.size())) {
    auto [view, slot] = views[index];
    StringAttr before = view.getSlotAttr();
    view.setSlot(slot.getName());
    trial.expectRefusal("view of its own weight", module, view);
    view.setSlotAttr(before);
  }
}

void mutateSchedule(ModuleOp module, Trial &trial) {
  mutateNames(module, trial);
  SmallVector<Operation *> releases, waits, collectives;
  module.walk([&](Operation *op) {
    if (isa<ReleaseOp>(op))
      releases.push_back(op);
    else if (isa<WaitOp>(op))
      waits.push_back(op);
    else if (isa<ControlSumOp>(op))
      collectives.push_back(op);
  });
  auto mutate = [&](const std::string &kind, ArrayRef<Operation *> ops, auto change) {
    for (size_t index : trial.choose(ops.size())) {
      IRMapping mapping;
      OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
      if (change(findClone(mapping, ops[index])))
        trial.expectRefusal(kind, *copy, ops[index]);
    }
  };
  mutate("release", releases, [](Operation *op) {
    op->erase();
    return true;
  });
  // The value stays in flight: whoever took the wait's value takes the future.
  mutate("wait", waits, [](Operation *op) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
    return true;
  });
  mutate("wait for another value of the type", waits, [](Operation *op) {
    SmallVector<Value> values = findSubstitutes(op, op->getResult(0).getType());
    if (values.empty())
      return false;
    op->getResult(0).replaceAllUsesWith(values.front());
    op->erase();
    return true;
  });
  mutate("collective in flight", waits, [](Operation *op) {
    erase(op, op->getOperand(0).getDefiningOp()->getOperand(0));
    return true;
  });
  mutate("collective in flight for another value of the type", waits, [](Operation *op) {
    SmallVector<Value> values = findSubstitutes(op, op->getResult(0).getType());
    if (values.empty())
      return false;
    erase(op, values.front());
    return true;
  });
  mutate("sum over the ranks", collectives, [](Operation *op) {
    erase(op, op->getOperand(0));
    return true;
  });
}

} // namespace zero::test
