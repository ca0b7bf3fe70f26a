//===- GroupPreparation.cpp - Brings a function into the form that groups take ---===//
//
//   %s = nn.reduce sum %x axes [0, 2]   ->   %0 = nn.reduce sum %x axes [2]; %s = nn.reduce sum %0 axes [0]
//
// A sum over a dimension in front of one that its terms repeat goes behind it, where a kernel can take it:
//   reduce sum (mul (broadcast %x dims [0, 2]), ..) axes [0]   ->   reduce sum (mul (broadcast %x dims [1, 2]), ..) axes [1]
//
//===----------------------------------------------------------------------===//
#include "GroupPreparation.h"
#include "LayoutTree.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace zero {

bool isWidening(Operation *op) {
  auto cast = dyn_cast<nn::CastOp>(op);
  if (!cast)
    return false;
  Type from = cast.getOperand().getType().getElementType(), to = cast.getType().getElementType();
  return (from.isF16() || from.isBF16()) && to.isF32();
}

bool isLight(Operation *op) {
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return constant.getValue().isSplat();
  return isa<nn::BroadcastOp, nn::IotaOp, nn::ReshapeOp>(op) || isWidening(op);
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

/// Moves the dimension of a reduction behind those that a term repeats while it runs along later ones: a kernel
/// has no columns of which parts are equal. Free where all terms are broadcasts.
static void moveReductions(func::FuncOp function) {
  SmallVector<nn::ReduceOp> reductions;
  function.walk([&](nn::ReduceOp op) {
    if (op.getAxes().size() == 1)
      reductions.push_back(op);
  });
  for (nn::ReduceOp op : reductions) {
    int64_t axis = op.getAxes().front(), rank = op.getOperand().getType().getRank(), last = axis;
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    LayoutTree same(op.getOperand(), order);
    auto isCheap = [](Operation *part) {
      return isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::NegOp, nn::CompareOp, nn::SelectOp, nn::CastOp>(part);
    };
    if (!same.isFree(op, isCheap) || same.hasParts())
      continue;
    for (nn::BroadcastOp broadcast : same.getBroadcasts()) {
      SmallVector<int64_t> along;
      for (auto [size, dim] : llvm::zip_equal(broadcast.getOperand().getType().getShape(), broadcast.getDims()))
        if (size != 1)
          along.push_back(dim);
      for (int64_t dim = axis + 1; !along.empty() && dim < along.back(); ++dim)
        if (op.getOperand().getType().getDimSize(dim) != 1 && !llvm::is_contained(along, dim))
          last = std::max(last, dim);
    }
    if (last == axis)
      continue;
    order.erase(order.begin() + axis);
    order.insert(order.begin() + last, axis);
    LayoutTree moved(op.getOperand(), order);
    if (!moved.isFree(op, isCheap))
      continue;
    OpBuilder builder(op);
    Value operand = moved.build(builder);
    op.replaceAllUsesWith(nn::ReduceOp::create(builder, op.getLoc(), op.getType(), op.getKind(), operand,
                                               ArrayRef<int64_t>{last})
                              .getResult());
    op.erase();
  }
  eraseDeadOps(function);
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

bool mayReadInside(Operation *user) {
  return user->hasTrait<nn::ElementwiseOp>() || isa<nn::ReduceOp>(user) || isLight(user);
}

/// Each op outside of groups that reads a widening gets its own, before it: no 32 bits are kept for the next, and one of a
/// parameter must be clonable beside each gather.
static void separateWidenings(func::FuncOp function) {
  SmallVector<Operation *> widenings;
  for (Operation &op : function.getBody().front())
    if (isWidening(&op))
      widenings.push_back(&op);
  for (Operation *op : widenings) {
    llvm::SetVector<Operation *> users(op->user_begin(), op->user_end());
    for (Operation *user : users)
      if (!mayReadInside(user))
        user->replaceUsesOfWith(op->getResult(0), OpBuilder(user).clone(*op)->getResult(0));
    if (op->use_empty())
      op->erase();
  }
}

void prepareForGroups(func::FuncOp function) {
  eraseDeadOps(function);
  splitReductions(function);
  moveReductions(function);
  separateBroadcasts(function);
  separateWidenings(function);
}

} // namespace zero
