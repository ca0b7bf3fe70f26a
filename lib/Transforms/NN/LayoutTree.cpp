//===- LayoutTree.cpp - A value computed with its dimensions in another order ===//
#include "LayoutTree.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace zero;
using namespace zero::nn;

/// Most ops of one tree.
static constexpr size_t kMost = 32;

LayoutTree::LayoutTree(Value value, ArrayRef<int64_t> order) : root(value), permutation(order) {
  inverse.resize(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    inverse[from] = to;
  known = visit(root);
}

bool LayoutTree::isFree(Operation *reader, llvm::function_ref<bool(Operation *)> mayRepeat) const {
  return known && llvm::all_of(inner, [&](Operation *op) {
           return mayRepeat(op) || llvm::all_of(op->getUsers(), [&](Operation *user) {
                    return user == reader || inner.contains(user);
                  });
         });
}

SmallVector<int64_t> LayoutTree::permute(ArrayRef<int64_t> values) const {
  return llvm::map_to_vector(permutation, [&](int64_t from) { return values[from]; });
}

/// Where the dimensions of a broadcast's operand go; none if they change their order.
std::optional<SmallVector<int64_t>> LayoutTree::broadcastDims(BroadcastOp op) const {
  SmallVector<int64_t> dims;
  int64_t last = -1;
  for (auto [size, dim] : llvm::zip_equal(op.getOperand().getType().getShape(), op.getDims())) {
    if (size == 1)
      continue;
    if (inverse[dim] < last)
      return std::nullopt;
    dims.push_back(last = inverse[dim]);
  }
  return dims;
}

bool LayoutTree::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [dim, from] : llvm::enumerate(permutation))
      if (transpose.getPermutation()[from] != static_cast<int64_t>(dim))
        return false;
    ++cancelled;
    return true;
  }
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValueAttr());
  if (isa<IotaOp>(op))
    return true;
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    broadcasts.push_back(broadcast);
    return broadcastDims(broadcast).has_value();
  }
  parts |= isa<SliceOp, ConcatOp>(op);
  if (!isa<SliceOp, ConcatOp>(op) && (!op->hasTrait<ElementwiseOp>() || op->getNumResults() != 1))
    return false;
  if (!inner.insert(op))
    return true;
  return inner.size() <= kMost && llvm::all_of(op->getOperands(), [&](Value operand) { return visit(operand); });
}

Value LayoutTree::build(OpBuilder &builder) { return build(builder, root); }

Value LayoutTree::build(OpBuilder &builder, Value value) {
  if (Value done = built.lookup(value))
    return done;
  Value made = make(builder, value);
  built[value] = made;
  return made;
}

Value LayoutTree::make(OpBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  Location location = op->getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType result = type.clone(permute(type.getShape()));
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transpose.getOperand();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return ConstantOp::create(builder, location, result,
                              cast<SplatElementsAttr>(constant.getValueAttr()).resizeSplat(result));
  if (auto iota = dyn_cast<IotaOp>(op))
    return IotaOp::create(builder, location, result, inverse[iota.getAxis()]);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    RankedTensorType from = broadcast.getOperand().getType();
    SmallVector<int64_t> counting;
    llvm::copy_if(from.getShape(), std::back_inserter(counting), [](int64_t size) { return size != 1; });
    Value narrow = builder.createOrFold<ReshapeOp>(location, from.clone(counting), broadcast.getOperand());
    return BroadcastOp::create(builder, location, result, narrow, *broadcastDims(broadcast));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(build(builder, operand));
  if (auto slice = dyn_cast<SliceOp>(op))
    return SliceOp::create(builder, location, result, operands.front(), permute(slice.getStarts()),
                           permute(slice.getStrides()));
  if (auto concat = dyn_cast<ConcatOp>(op))
    return ConcatOp::create(builder, location, result, operands, inverse[concat.getAxis()]);
  OperationState state(location, op->getName(), operands, result, op->getAttrs());
  return builder.create(state)->getResult(0);
}
