//===- PredictFunction.cpp - The outputs of @forward as a function of their own
#include "PredictFunction.h"
#include "dialects/NN/NNOps.h"

using namespace mlir;

namespace zero::nn {

static RoleAttr getArgumentRole(func::FuncOp function, unsigned index) {
  return function.getArgAttrOfType<RoleAttr>(index, kRoleAttrName);
}

/// Erases the results for which `drop` holds, ops that are dead then, and unused arguments of the given kinds.
static void reduceTo(func::FuncOp function, llvm::function_ref<bool(RoleAttr)> drop, ArrayRef<RoleKind> unused) {
  Block &body = function.front();
  Operation *end = body.getTerminator();
  BitVector dropped(function.getNumResults());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto role = function.getResultAttrOfType<RoleAttr>(index, kRoleAttrName);
    if (role && drop(role))
      dropped.set(index);
    else
      attributes.push_back(function.getResultAttrDict(index));
  }
  end->eraseOperands(dropped);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), end->getOperandTypes()));
  function.setAllResultAttrs(attributes);
  BitVector unread(function.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (RoleAttr role = getArgumentRole(function, argument.getArgNumber());
        role && llvm::is_contained(unused, role.getKind()) && argument.use_empty())
      unread.set(argument.getArgNumber());
  (void)function.eraseArguments(unread);
}

bool splitPredict(func::FuncOp forward) {
  unsigned outputs = 0;
  for (unsigned index = 0; index < forward.getNumResults(); ++index) {
    auto role = forward.getResultAttrOfType<RoleAttr>(index, kRoleAttrName);
    outputs += role && role.getKind() == RoleKind::Output;
  }
  if (outputs == 0)
    return true;
  auto isOutput = [](RoleAttr role) { return role.getKind() == RoleKind::Output; };
  func::FuncOp predict = forward;
  if (outputs != forward.getNumResults()) {
    predict = forward.clone();
    forward->getBlock()->getOperations().insertAfter(Block::iterator(forward), predict);
    reduceTo(forward, isOutput, {RoleKind::Frozen});
  }
  predict.setName("predict");
  reduceTo(predict, [&](RoleAttr role) { return !isOutput(role); },
           {RoleKind::Frozen, RoleKind::Input, RoleKind::Label});
  return predict != forward;
}

} // namespace zero::nn
