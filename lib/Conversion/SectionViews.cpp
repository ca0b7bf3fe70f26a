//===- SectionViews.cpp - Roots, views and uses of a section's values -----===//
#include "KernelBodies.h"
#include "SectionPlacement.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/KernelShape.h"
#include "zero/Analysis/LibraryKernels.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using zero::nn::RoleKind;

namespace zero::conversion {

/// Constants larger than this are filled in by a command instead of being stored.
static constexpr int64_t kLargestStoredSplatBytes = 1024;

static Shape getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

unsigned SectionPlacement::addRoot(Value value, int def) {
  Root root;
  root.value = value;
  root.def = def;
  roots.push_back(std::move(root));
  View view;
  view.root = roots.size() - 1;
  view.bytes = plan.getBytes(value.getType());
  view.whole = true;
  values[value] = view;
  return view.root;
}

void SectionPlacement::addView(Value value, Value of, int64_t offset, int64_t bytes, int64_t rankStride) {
  View view = values.lookup(of);
  view.whole = view.whole && offset == 0 && rankStride == 0 && bytes == view.bytes;
  view.offset += offset;
  view.bytes = bytes;
  view.rankStride += rankStride;
  values[value] = view;
  views.insert(value.getDefiningOp());
}

Strides SectionPlacement::getViewStrides(Value value) const {
  const View &view = values.find(value)->second;
  return view.strides.empty() ? getDenseStrides(getShape(value)) : view.strides;
}

/// Sees the result of a slice or transpose inside its operand: result dimension i steps `steps[i]` elements.
/// Only where the elements are dense there, or where all readers read by strides.
bool SectionPlacement::tryStridedView(Operation *op, ArrayRef<int64_t> steps, int64_t elementOffset) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  Shape shape = getShape(result);
  if (llvm::any_of(steps, [](int64_t step) { return step < 0; }) || countElements(shape) == 0)
    return false;
  int64_t elementBytes = getElementBytes(cast<RankedTensorType>(result.getType()).getElementType());
  bool dense = isDense(shape, steps);
  if (!dense && !usesReadStrided(result, shape, steps))
    return false;
  View view = values.lookup(operand);
  bool same = dense && elementOffset == 0 && countElements(shape) == countElements(getShape(operand));
  view.whole = view.whole && same;
  view.offset += elementOffset * elementBytes;
  view.bytes = getSpan(shape, steps) * elementBytes;
  view.strides = dense ? Strides() : Strides(steps);
  values[result] = view;
  views.insert(op);
  return true;
}

bool SectionPlacement::usesReadStrided(Value value, Shape shape, ArrayRef<int64_t> strides) const {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) { return readsStrided(use, shape, strides); });
}

bool SectionPlacement::readsStrided(OpOperand &use, Shape shape, ArrayRef<int64_t> strides) const {
  unsigned index = use.getOperandNumber();
  auto lastIsDense = [&] { return shape.back() == 1 || strides.back() == 1; };
  return TypeSwitch<Operation *, bool>(use.getOwner())
      .Case([&](nn::ReshapeOp reshape) {
        Shape to = getShape(reshape.getResult());
        std::optional<Strides> reshaped = reshapeStrides(shape, strides, to);
        return reshaped && usesReadStrided(reshape.getResult(), to, *reshaped);
      })
      // These read by strides when they copy.
      .Case<nn::SliceOp, nn::TransposeOp, nn::ConcatOp, nn::PadOp>([](Operation *) { return true; })
      .Case([&](nn::MatmulOp) { return getMatrixLayout(shape, strides).has_value(); })
      .Case([&](nn::GroupOp group) {
        // Asked before the group has been looked at.
        std::optional<FusedProduct> product = holdsProduct(group) ? getFusedProduct(group) : std::nullopt;
        auto isOperand = [&](Value operand) { return llvm::count(group->getOperands(), operand) == 1 && use.get() == operand; };
        return product && (isOperand(product->lhs) || isOperand(product->rhs)) && getMatrixLayout(shape, strides).has_value();
      })
      .Case([&](nn::AttentionOp) { return index < 3 && lastIsDense(); })
      .Case([&](nn::AttentionGradOp grad) {
        return lastIsDense() &&
               (index < 3 || use.get() == grad.getResult() || use.get() == grad.getResultGradient()) &&
               use.get() != grad.getMask() && use.get() != grad.getLogSumExp();
      })
      .Default(false);
}

/// What this rank holds of a bucket as a tensor of one dimension; tensors as they are.
RankedTensorType SectionPlacement::getFlatType(Value value) const {
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    return tensor;
  Type element = plan.getElement(value.getType());
  return RankedTensorType::get({plan.getBytes(value.getType()) / getElementBytes(element)}, element);
}

LogicalResult SectionPlacement::makeKernel(Operation *op) {
  func::FuncOp body = TypeSwitch<Operation *, func::FuncOp>(op)
                          .Case([](nn::GroupOp group) { return outlineGroup(group); })
                          .Case([&](sharding::UpdateOp update) { return outlineUpdate(update, getFlatType(update.getStates().front()).getNumElements()); })
                          .Case([&](sharding::AccumulateOp accumulate) {
                            RankedTensorType type = getFlatType(accumulate.getResult()), value = getFlatType(accumulate.getValue());
                            return kind == SectionKind::First ? outlineConvert(op->getLoc(), value, type) : outlineAccumulate(op->getLoc(), type, value);
                          })
                          .Case([&](sharding::ConvertOp convert) {
                            return outlineConvert(op->getLoc(), getFlatType(convert.getOperand()), getFlatType(convert.getResult()));
                          })
                          .Default([](Operation *other) { return outlineOp(other); });
  FailureOr<GeneratedKernel> kernel = plan.getKernel(body, op);
  if (failed(kernel))
    return failure();
  kernels[op] = *kernel;
  return success();
}

/// Ops that a kernel of the library or a record of the plan stands for.
static bool isDirect(Operation *op) {
  return isa<nn::MatmulOp, nn::GatherOp, nn::ScatterAddOp, nn::ScatterOp, nn::TopKOp, nn::CumSumOp, nn::AttentionOp,
             nn::AttentionGradOp, nn::ConvOp, nn::ConvTransposeOp, nn::ConvWeightGradOp, nn::MaxPoolOp, nn::SumPoolOp, nn::SliceOp,
             nn::TransposeOp, nn::ConcatOp, nn::PadOp, nn::ConstantOp, sharding::PackOp,
             sharding::AllGatherStartOp, sharding::ReduceScatterStartOp, sharding::AllReduceStartOp,
             sharding::ControlSumOp, sharding::SumSquaresOp, sharding::NormOp>(op);
}

static bool isCollectiveStart(Operation *op) {
  return isa<sharding::AllGatherStartOp, sharding::ReduceScatterStartOp, sharding::AllReduceStartOp>(op);
}

/// Large splats are filled in by a command, and so are parts of others and new values of a state.
bool SectionPlacement::isFilledIn(nn::ConstantOp constant) const {
  if (!constant.getValue().isSplat())
    return false;
  bool hasDestination = llvm::any_of(constant->getUsers(), [&](Operation *user) {
    return isa<func::ReturnOp, sharding::PackOp, nn::ConcatOp>(user) ||
           (isa<sharding::AccumulateOp>(user) && kind == SectionKind::First);
  });
  return hasDestination || plan.getBytes(constant.getType()) > kLargestStoredSplatBytes;
}

LogicalResult SectionPlacement::analyzeOp(Operation *op, int index) {
  auto wholeView = [&](Value result, Value operand) {
    addView(result, operand, 0, plan.getBytes(result.getType()));
    values[result].strides = values.lookup(operand).strides;
  };
  if (auto view = dyn_cast<sharding::ViewOp>(op)) {
    sharding::BucketOp bucket = plan.getBucket(view.getBucket().getType());
    sharding::SlotAttr slot = bucket.getSlot(view.getSlot());
    addView(view.getResult(), view.getBucket(), slot.getOffset() * getElementBytes(plan.getElement(view.getBucket().getType())),
            plan.getBytes(view.getResult().getType()));
    return success();
  }
  if (auto shard = dyn_cast<sharding::ShardOfOp>(op)) {
    int64_t bytes = plan.getBytes(shard.getShard().getType());
    addView(shard.getShard(), shard.getFull(), 0, bytes, plan.getWorldSize() == 1 ? 0 : bytes);
    return success();
  }
  if (isa<sharding::AliasOp, sharding::WaitOp>(op)) {
    wholeView(op->getResult(0), op->getOperand(0));
    return success();
  }
  if (auto accumulate = dyn_cast<sharding::AccumulateOp>(op);
      accumulate && kind == SectionKind::First && accumulate.getType() == accumulate.getValue().getType()) {
    wholeView(accumulate.getResult(), accumulate.getValue());
    return success();
  }
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
    Value operand = reshape.getOperand(), result = reshape.getResult();
    std::optional<Strides> strides =
        reshapeStrides(getShape(operand), getViewStrides(operand), getShape(result));
    assert(strides && "a strided view has only readers that can read it");
    View view = values.lookup(operand);
    view.strides = isDense(getShape(result), *strides) ? Strides() : *strides;
    values[result] = view;
    views.insert(op);
    return success();
  }
  if (auto slice = dyn_cast<nn::SliceOp>(op)) {
    Strides operandStrides = getViewStrides(slice.getOperand()), steps;
    int64_t offset = 0;
    for (auto [i, stride] : llvm::enumerate(operandStrides)) {
      offset += slice.getStarts()[i] * stride;
      steps.push_back(slice.getStrides()[i] * stride);
    }
    if (tryStridedView(op, steps, offset))
      return success();
  }
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    Strides operandStrides = getViewStrides(transpose.getOperand()), steps;
    for (int64_t dimension : transpose.getPermutation())
      steps.push_back(operandStrides[dimension]);
    if (tryStridedView(op, steps, 0))
      return success();
  }
  if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    if (!isFilledIn(constant)) {
      unsigned root = addRoot(constant.getResult(), -1);
      roots[root].uses.push_back({static_cast<int>(indices.size()), static_cast<int>(indices.size())});
      setPlace(root, plan.getConstant(constant));
      views.insert(op);
      return success();
    }
  }
  if (isa<sharding::ReleaseOp, func::ReturnOp>(op))
    return success();
  if (!isDirect(op)) {
    if (!isa<nn::GroupOp, sharding::UpdateOp, sharding::AccumulateOp, sharding::ConvertOp>(op)) {
      std::string why;
      if (op->getNumRegions() != 0 || !isCodegenSupported(op, &why))
        return op->emitError() << "no kernel for '" << op->getName() << "' on target " << plan.getTargetName()
                               << (why.empty() ? "" : ": ") << why;
    }
    auto group = dyn_cast<nn::GroupOp>(op);
    if (group && holdsProduct(group)) {
      std::string why = whyNoLibraryKernel(op);
      if (!why.empty())
        return op->emitError() << why;
      products[op] = *getFusedProduct(group);
    } else if (failed(makeKernel(op))) {
      return failure();
    }
  }
  for (Value result : op->getResults())
    addRoot(result, index);
  return success();
}

OperandRange SectionPlacement::getReads(Operation *op) const {
  // Nothing is there yet that the first micro-batch would be added to.
  if (auto accumulate = dyn_cast<sharding::AccumulateOp>(op); accumulate && kind == SectionKind::First)
    return op->getOperands().drop_front();
  return op->getOperands();
}

void SectionPlacement::addUses(Operation *op, int index) {
  if (isa<sharding::ReleaseOp>(op) || (views.contains(op)))
    return;
  int end = isCollectiveStart(op) ? waits.lookup(op) : index;
  for (Value operand : getReads(op))
    roots[values.lookup(operand).root].uses.push_back({index, end});
  // A collective writes until it is waited for.
  if (isCollectiveStart(op))
    roots[values.lookup(op->getResult(0)).root].uses.push_back({index, end});
}

void SectionPlacement::addArgument(BlockArgument argument, bool overwritten) {
  const State *state = plan.findArgumentState(function, argument.getArgNumber());
  unsigned root = addRoot(argument, -1);
  RoleKind role = state->role.getKind();
  // Accumulators start anew in the next step; every other state that gets no new value keeps the one it has.
  bool scratch = role == RoleKind::Gradient || role == RoleKind::LossSum || role == RoleKind::LabelCount;
  if (!overwritten && !scratch)
    roots[root].uses.push_back({static_cast<int>(indices.size()), static_cast<int>(indices.size())});
  setPlace(root, state->place);
}

LogicalResult SectionPlacement::analyze() {
  for (auto [index, op] : llvm::enumerate(*block))
    indices[&op] = index;
  for (Operation &op : *block) {
    if (!isCollectiveStart(&op))
      continue;
    int wait = indices.size() - 1;
    for (Operation *user : op.getResult(0).getUsers())
      wait = std::min(wait, indices.lookup(user));
    waits[&op] = wait;
  }
  llvm::SmallPtrSet<const State *, 8> written;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    written.insert(plan.findResultState(function, i));
  for (BlockArgument argument : block->getArguments())
    addArgument(argument, written.contains(plan.findArgumentState(function, argument.getArgNumber())));
  for (auto [index, op] : llvm::enumerate(*block))
    if (failed(analyzeOp(&op, index)))
      return failure();
  for (auto [index, op] : llvm::enumerate(*block))
    addUses(&op, index);
  return success();
}

} // namespace zero::conversion
