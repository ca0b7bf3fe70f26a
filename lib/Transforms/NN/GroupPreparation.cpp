//===- GroupPreparation.cpp - Brings a function into the form that groups take ---===//
//
//   %s = nn.reduce sum %x axes [0, 2]   ->   %0 = nn.reduce sum %x axes [2]; %s = nn.reduce sum %0 axes [0]
//
//===----------------------------------------------------------------------===//
#include "GroupPreparation.h"

using namespace mlir;

namespace zero {

bool isLight(Operation *op) {
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return constant.getValue().isSplat();
  return isa<nn::BroadcastOp, nn::IotaOp, nn::ReshapeOp>(op);
}

Value broadcastSplat(OpBuilder &builder, nn::ConstantOp op) {
  RankedTensorType type = op.getResult().getType(), scalarType = type.clone(ArrayRef<int64_t>{});
  auto value = cast<DenseElementsAttr>(op.getValue()).getSplatValue<Attribute>();
  Value scalar =
      nn::ConstantOp::create(builder, op.getLoc(), scalarType, DenseElementsAttr::get(scalarType, value));
  return nn::BroadcastOp::create(builder, op.getLoc(), type, scalar, ArrayRef<int64_t>{});
}

void eraseDeadOps(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// The axes of a reduction as runs of neighbours; dimensions of size 1 separate nothing.
static SmallVector<SmallVector<int64_t>> splitIntoRuns(nn::ReduceOp op) {
  SmallVector<SmallVector<int64_t>> runs;
  ArrayRef<int64_t> shape = op.getOperand().getType().getShape();
  bool open = false;
  for (int64_t axis = 0, rank = shape.size(); axis < rank; ++axis) {
    bool reduced = llvm::is_contained(op.getAxes(), axis);
    if (reduced && !open)
      runs.emplace_back();
    if (reduced)
      runs.back().push_back(axis);
    open = reduced || (open && shape[axis] == 1);
  }
  return runs;
}

/// Reductions along separate runs of axes become reductions one after the other, the innermost first.
static void splitReductions(func::FuncOp function) {
  SmallVector<nn::ReduceOp> reductions;
  function.walk([&](nn::ReduceOp op) { reductions.push_back(op); });
  for (nn::ReduceOp op : reductions) {
    OpBuilder builder(op);
    if (auto constant = op.getOperand().getDefiningOp<nn::ConstantOp>();
        constant && constant.getValue().isSplat())
      op.getOperandMutable().set(broadcastSplat(builder, constant));
    SmallVector<SmallVector<int64_t>> runs = splitIntoRuns(op);
    if (runs.size() < 2)
      continue;
    Value value = op.getOperand();
    for (ArrayRef<int64_t> run : llvm::reverse(runs)) {
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape;
      for (auto [axis, size] : llvm::enumerate(type.getShape()))
        if (!llvm::is_contained(run, static_cast<int64_t>(axis)))
          shape.push_back(size);
      value = nn::ReduceOp::create(builder, op.getLoc(), type.clone(shape), op.getKind(), value, run);
    }
    op.replaceAllUsesWith(value);
    op.erase();
  }
}

/// Gives each broadcast of a light op its own copy of it: inside one kernel they may go along different
/// dimensions.
static void separateBroadcasts(func::FuncOp function) {
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    if (!isLight(&op) || isa<nn::ConstantOp>(op))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getUses())
      if (isa<nn::BroadcastOp>(use.getOwner()))
        uses.push_back(&use);
    for (OpOperand *use : llvm::drop_begin(uses, uses.empty() ? 0 : 1))
      use->set(OpBuilder(&op).clone(op)->getResult(0));
  }
}

void prepareForGroups(func::FuncOp function) {
  eraseDeadOps(function);
  splitReductions(function);
  separateBroadcasts(function);
}

} // namespace zero
