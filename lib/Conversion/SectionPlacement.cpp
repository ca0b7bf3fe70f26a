//===- SectionPlacement.cpp - Where each value of a section lies ----------===//
#include "SectionPlacement.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/KernelShape.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using zero::plan::ContentClass;

namespace zero::conversion {

SectionPlacement::SectionPlacement(PlanBuilder &plan, func::FuncOp function, SectionKind kind, StringRef name)
    : plan(plan), function(function), kind(kind), name(name), block(&function.front()) {}

LogicalResult SectionPlacement::run() {
  if (failed(analyze()))
    return failure();
  placeBackwards();
  placeForwards();
  return success();
}

//===----------------------------------------------------------------------===//
// Places of values
//===----------------------------------------------------------------------===//

std::optional<Place> SectionPlacement::getPlaceIfPlaced(Value value) const {
  const View &view = values.find(value)->second;
  const Root &root = roots[view.root];
  if (!root.place)
    return std::nullopt;
  Place place = *root.place;
  if (!place.strides.empty()) {
    // Only reshapes of all of it see such a root.
    Shape from = cast<RankedTensorType>(root.value.getType()).getShape();
    Shape to = cast<RankedTensorType>(value.getType()).getShape();
    place.strides = *reshapeStrides(from, place.strides, to);
    return place;
  }
  place.offset += view.offset;
  place.bytes = view.bytes;
  place.rankStride += view.rankStride;
  place.strides = view.strides;
  return place;
}

Place SectionPlacement::getPlace(Value value) const { return *getPlaceIfPlaced(value); }

Strides SectionPlacement::getStrides(Value value) const {
  Place place = getPlace(value);
  return place.strides.empty() ? getDenseStrides(cast<RankedTensorType>(value.getType()).getShape())
                               : place.strides;
}

Place SectionPlacement::makePlace(int64_t bytes, ContentClass content, Operation *op, StringRef suffix) {
  std::string opName = op->getName().stripDialect().str();
  std::string label = opName;
  if (auto named = op->getLoc()->findInstanceOf<NameLoc>())
    label = named.getName().str();
  Place place;
  place.bytes = bytes;
  place.storage = plan.addStorage(
      {name + "." + std::to_string(indices.lookup(op)) + "." + opName + suffix.str(), bytes, content,
       /*padding=*/0, /*state=*/false, label, op->getLoc()});
  return place;
}

Place SectionPlacement::makePlace(OpResult result, ContentClass content) {
  Operation *op = result.getOwner();
  std::string suffix = op->getNumResults() > 1 ? "." + std::to_string(result.getResultNumber()) : "";
  Place place = makePlace(plan.getBytes(result.getType()), content, op, suffix);
  plan.describeBucket(place.storage, result.getType());
  return place;
}

Place SectionPlacement::getDestination(Operation *op, unsigned index) const {
  if (auto pack = dyn_cast<sharding::PackOp>(op)) {
    sharding::BucketOp bucket = plan.getBucket(pack.getResult().getType());
    auto slot = cast<sharding::SlotAttr>(bucket.getSlots()[index]);
    Place place = getPlace(pack.getResult());
    place.offset += slot.getOffset() * getElementBytes(plan.getElement(pack.getResult().getType()));
    place.bytes = plan.getBytes(pack.getGradients()[index].getType());
    return place;
  }
  if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
    Place place = getPlace(concat.getResult());
    auto type = cast<RankedTensorType>(concat.getOperand(index).getType());
    Strides strides = getStrides(concat.getResult());
    int64_t start = 0;
    for (unsigned i = 0; i < index; ++i)
      start += cast<RankedTensorType>(concat.getOperand(i).getType()).getDimSize(concat.getAxis());
    int64_t elementBytes = getElementBytes(type.getElementType());
    place.offset += start * strides[concat.getAxis()] * elementBytes;
    place.bytes = getSpan(type.getShape(), strides) * elementBytes;
    place.strides = isDense(type.getShape(), strides) ? Strides() : strides;
    return place;
  }
  return plan.findResultState(function, index)->place;
}

//===----------------------------------------------------------------------===//
// Who may share bytes
//===----------------------------------------------------------------------===//

bool SectionPlacement::isPartOf(const Root &part, const Root &whole) const {
  for (std::optional<unsigned> parent = part.partOf; parent; parent = roots[*parent].partOf)
    if (&roots[*parent] == &whole)
      return true;
  return false;
}

/// Whether the sum has the element of what is sent: only then may both lie at one place.
bool SectionPlacement::sumsInItsElement(Operation *start) const {
  return plan.getElement(start->getOperand(0).getType()) == plan.getElement(cast<sharding::FutureType>(start->getResult(0).getType()).getValue());
}

/// Whether the op may write `result` at `target`, where it reads `operand`.
bool SectionPlacement::mayOverwrite(OpOperand &operand, OpResult result, const Place &target) const {
  Place source = getPlace(operand.get());
  unsigned index = operand.getOperandNumber();
  return TypeSwitch<Operation *, bool>(operand.getOwner())
      .Case([&](sharding::AllGatherStartOp) { return source == target.ownRange(plan.getWorldSize()); })
      .Case([&](sharding::ReduceScatterStartOp start) {
        return sumsInItsElement(start) && source.ownRange(plan.getWorldSize()) == target;
      })
      .Case([&](sharding::AllReduceStartOp start) { return sumsInItsElement(start) && source == target; })
      .Case([&](sharding::ControlSumOp) { return source == target; })
      .Case([&](sharding::UpdateOp update) {
        return source == target && index == sharding::getUpdatedState(result.getResultNumber());
      })
      .Default([&](Operation *op) {
        const unsigned unread = op->getNumOperands() - getReads(op).size();
        if (index < unread)
          return true;
        // A sum with a matrix may lie in its place.
        if (const FusedProduct *product = findProduct(op))
          return result == product->out && operand.get() == product->addend && llvm::count(op->getOperands(), operand.get()) == 1 && source == target;
        auto kernel = kernels.find(op);
        return kernel != kernels.end() && source == target &&
               canComputeInPlace(kernel->second.body, index - unread, result.getResultNumber());
      });
}

bool SectionPlacement::mayOverwrite(const Root &earlier, const Root &later) const {
  auto result = dyn_cast<OpResult>(later.value);
  if (!result)
    return false;
  return llvm::all_of(result.getOwner()->getOpOperands(), [&](OpOperand &operand) {
    auto it = values.find(operand.get());
    return &roots[it->second.root] != &earlier ||
           !getPlace(operand.get()).overlaps(*later.place, plan.getWorldSize()) ||
           mayOverwrite(operand, result, *later.place);
  });
}

/// Whether two placed roots share bytes that one needs while the other has them.
bool SectionPlacement::conflicts(const Root &a, const Root &b) const {
  // Parts of one whole have bytes of their own, though their strides interleave them.
  if (!a.place->overlaps(*b.place, plan.getWorldSize()) || (a.partOf && a.partOf == b.partOf))
    return false;
  if (a.def == b.def)
    return true;
  const Root &earlier = a.def < b.def ? a : b, &later = a.def < b.def ? b : a;
  if (isPartOf(earlier, later))
    return false;
  for (const Use &use : earlier.uses) {
    if (use.end < later.def || (use.op == later.def && mayOverwrite(earlier, later)))
      continue;
    return true;
  }
  return false;
}

bool SectionPlacement::canPlace(unsigned index, const Place &place) {
  Root &root = roots[index];
  root.place = place;
  bool free = llvm::none_of(rootsOfStorage.lookup(place.storage),
                            [&](unsigned other) { return other != index && conflicts(root, roots[other]); });
  root.place.reset();
  return free;
}

void SectionPlacement::setPlace(unsigned index, const Place &place) {
  roots[index].place = place;
  rootsOfStorage[place.storage].push_back(index);
}

//===----------------------------------------------------------------------===//
// Backwards from where values have to go
//===----------------------------------------------------------------------===//

/// Whether the producer of the root can write with these strides.
bool SectionPlacement::writesStrided(Value value, ArrayRef<int64_t> strides) const {
  Shape shape = cast<RankedTensorType>(value.getType()).getShape();
  return TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case<nn::SliceOp, nn::TransposeOp>([](Operation *) { return true; })
      .Case([&](nn::MatmulOp) {
        std::optional<MatrixLayout> layout = getMatrixLayout(shape, strides);
        return layout && !layout->exchanged;
      })
      .Case([&](nn::GroupOp group) {
        const FusedProduct *product = findProduct(group);
        std::optional<MatrixLayout> layout = product && value == product->out && shape.size() == 2 ? getMatrixLayout(shape, strides) : std::nullopt;
        return layout && !layout->exchanged;
      })
      .Case([&](nn::AttentionOp op) {
        return value == op.getResult() && (shape.back() == 1 || strides.back() == 1);
      })
      .Case([&](nn::AttentionGradOp) { return shape.back() == 1 || strides.back() == 1; })
      .Default(false);
}

/// Whether nothing but one chain of reshapes leads from the root to `value`, and from there to one user.
bool SectionPlacement::hasOneUser(Value value, const Root &root) const {
  while (value.hasOneUse() && value != root.value)
    value = value.getDefiningOp()->getOperand(0);
  return value == root.value && value.hasOneUse();
}

/// Makes the command that computes `value` write at `place`, or says that it cannot.
bool SectionPlacement::tryPlace(Value value, const Place &place) {
  const View &view = values.find(value)->second;
  Root &root = roots[view.root];
  if (root.place)
    return getPlace(value) == place;
  if (!view.whole || !view.strides.empty())
    return false;
  Place wanted = place;
  if (!place.strides.empty()) {
    Shape shape = cast<RankedTensorType>(value.getType()).getShape();
    Shape rootShape = cast<RankedTensorType>(root.value.getType()).getShape();
    std::optional<Strides> strides = reshapeStrides(shape, place.strides, rootShape);
    if (!strides || !hasOneUser(value, root) || !writesStrided(root.value, *strides))
      return false;
    wanted.strides = *strides;
  }
  if (!canPlace(view.root, wanted))
    return false;
  setPlace(view.root, wanted);
  return true;
}

void SectionPlacement::placeBackwards() {
  const int64_t worldSize = plan.getWorldSize();
  auto placeOperands = [&](Operation *op, Value result) {
    unsigned whole = values.lookup(result).root;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Root &part = roots[values.lookup(operand).root];
      if (part.place || part.partOf)
        continue;
      part.partOf = whole;
      if (!tryPlace(operand, getDestination(op, index)))
        part.partOf.reset();
    }
  };
  for (Operation &op : llvm::reverse(*block)) {
    TypeSwitch<Operation *>(&op)
        .Case([&](func::ReturnOp) {
          for (auto [index, operand] : llvm::enumerate(op.getOperands()))
            tryPlace(operand, getDestination(&op, index));
        })
        .Case([&](sharding::PackOp pack) {
          unsigned root = values.lookup(pack.getResult()).root;
          if (!roots[root].place)
            setPlace(root, makePlace(cast<OpResult>(pack.getResult()), ContentClass::buckets));
          placeOperands(pack, pack.getResult());
        })
        .Case([&](nn::ConcatOp concat) {
          unsigned root = values.lookup(concat.getResult()).root;
          if (!roots[root].place)
            setPlace(root, makePlace(cast<OpResult>(concat.getResult()), ContentClass::activations));
          placeOperands(concat, concat.getResult());
        })
        .Case([&](sharding::AllReduceStartOp start) {
          if (std::optional<Place> place = getPlaceIfPlaced(start.getFuture()); place && sumsInItsElement(start))
            tryPlace(start.getPartial(), *place);
        })
        .Case([&](sharding::ReduceScatterStartOp start) {
          // A shard inside its own whole bucket: contributions lie around it.
          std::optional<Place> place = getPlaceIfPlaced(start.getFuture());
          if (place && place->rankStride != 0 && sumsInItsElement(start)) {
            Place whole = *place;
            whole.bytes = place->bytes * worldSize;
            whole.rankStride = 0;
            tryPlace(start.getPartial(), whole);
          }
        })
        .Case([&](sharding::AllGatherStartOp start) {
          if (std::optional<Place> place = getPlaceIfPlaced(start.getFuture()))
            tryPlace(start.getShard(), place->ownRange(worldSize));
        })
        .Default([](Operation *) {});
  }
}

//===----------------------------------------------------------------------===//
// Forwards: in place of a dying operand, or fresh
//===----------------------------------------------------------------------===//

static ContentClass getFreshContent(Operation *op) {
  bool bucket = isa<sharding::AllGatherStartOp, sharding::ReduceScatterStartOp, sharding::AllReduceStartOp,
                    sharding::PackOp, sharding::ConvertOp, sharding::AccumulateOp, sharding::UpdateOp>(op);
  return bucket ? ContentClass::buckets : ContentClass::activations;
}

void SectionPlacement::placeInOperandOrFresh(OpResult result) {
  Operation *op = result.getOwner();
  unsigned root = values.lookup(result).root;
  int64_t bytes = plan.getBytes(result.getType());
  bool generated =
      isa<nn::GroupOp>(op) || (kernels.contains(op) && !isa<sharding::UpdateOp, sharding::AccumulateOp, sharding::ConvertOp>(op));
  if (!isa<sharding::AllGatherStartOp>(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      Place place = getPlace(operand.get());
      if (isa<sharding::ReduceScatterStartOp>(op))
        place = place.ownRange(plan.getWorldSize());
      // States are left to what the program says of them, and keep their element.
      if (place.bytes != bytes || !place.strides.empty() ||
          ((generated || isa<sharding::ConvertOp>(op)) && plan.getStorage(place.storage).state))
        continue;
      roots[root].place = place;
      bool allowed = mayOverwrite(operand, result, place);
      roots[root].place.reset();
      if (allowed && canPlace(root, place))
        return setPlace(root, place);
    }
  }
  // A range that lies in a state for all ranges is gathered there.
  if (auto gather = dyn_cast<sharding::AllGatherStartOp>(op)) {
    Place range = getPlace(gather.getShard()), whole = range;
    whole.bytes = bytes;
    whole.rankStride = 0;
    if (range.rankStride != 0 && range == whole.ownRange(plan.getWorldSize()) && canPlace(root, whole))
      return setPlace(root, whole);
  }
  setPlace(root, makePlace(result, getFreshContent(op)));
}

void SectionPlacement::placeForwards() {
  for (Operation &op : *block) {
    if (views.contains(&op))
      continue;
    for (OpResult result : op.getResults())
      if (!roots[values.lookup(result).root].place)
        placeInOperandOrFresh(result);
  }
}

} // namespace zero::conversion
