//===- ZeroOps.cpp - Verifiers and folders of the zero dialect ------------===//
//
// Each check carries the label of the constraint in ZeroOps.td (bucket_c1 is (C1) of zero.bucket); the test of
// that name is in test/Dialect/Zero/invalid.mlir. Checks that look a symbol up stand in verifySymbolUses.
//
//===----------------------------------------------------------------------===//
#include "dialects/Zero/ZeroOps.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zero::sharding {

int64_t SlotAttr::getNumElements() const {
  int64_t elements = 1;
  for (int64_t size : getShape())
    elements *= size;
  return elements;
}

FlatSymbolRefAttr getBucketSymbol(Type type) {
  return llvm::TypeSwitch<Type, FlatSymbolRefAttr>(type)
      .Case<ShardType, FullType, PartialType>([](auto bucket) { return bucket.getBucket(); })
      .Case<FutureType>([](FutureType future) { return getBucketSymbol(future.getValue()); })
      .Default([](Type) { return FlatSymbolRefAttr(); });
}

BucketOp getBucket(Operation *from, Type type) {
  FlatSymbolRefAttr symbol = getBucketSymbol(type);
  return symbol ? SymbolTable::lookupNearestSymbolFrom<BucketOp>(from, symbol) : BucketOp();
}

/// Null where the type says none: it is the bucket's then.
static Type getOwnElement(Type type) {
  return llvm::TypeSwitch<Type, Type>(type)
      .Case<ShardType, FullType, PartialType>([](auto bucket) { return bucket.getElement(); })
      .Case<FutureType>([](FutureType future) { return getOwnElement(future.getValue()); })
      .Default([](Type) { return Type(); });
}

Type getElement(BucketOp bucket, Type type) {
  Type own = getOwnElement(type);
  return own ? own : bucket.getElement();
}

Type withElement(BucketOp bucket, Type type, Type element) {
  if (element == bucket.getElement())
    element = {};
  return llvm::TypeSwitch<Type, Type>(type).Case<ShardType, FullType, PartialType>([&](auto held) -> Type {
    return decltype(held)::get(held.getContext(), held.getBucket(), element);
  });
}

/// Shard, full or partial of one bucket with any elements.
static bool isHeldAlike(Type a, Type b) {
  return a.getTypeID() == b.getTypeID() && isa<ShardType, FullType, PartialType>(a) && getBucketSymbol(a) == getBucketSymbol(b);
}

int64_t getMeshSize(BucketOp bucket) {
  return SymbolTable::lookupNearestSymbolFrom<MeshOp>(bucket, bucket.getMeshAttr()).getSize();
}

/// The bucket op named by `symbol`; says that there is none otherwise.
static BucketOp lookUpBucket(Operation *user, FlatSymbolRefAttr symbol, SymbolTableCollection &symbols) {
  auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>(user, symbol);
  if (!bucket)
    user->emitOpError() << "names bucket " << symbol << ", but there is no such zero.bucket";
  return bucket;
}

static RankedTensorType getSlotType(BucketOp bucket, SlotAttr slot) {
  return RankedTensorType::get(slot.getShape(), bucket.getElement());
}

//===----------------------------------------------------------------------===//
// Mesh and bucket
//===----------------------------------------------------------------------===//

LogicalResult MeshOp::verify() {
  if (getSize() < 1) // mesh_c1
    return emitOpError() << "has size " << getSize() << ", but a mesh has at least 1 rank";
  return success();
}

SlotAttr BucketOp::getSlot(StringRef parameter) {
  for (SlotAttr slot : getSlots().getAsRange<SlotAttr>())
    if (slot.getName() == parameter)
      return slot;
  return {};
}

LogicalResult BucketOp::verify() {
  if (!isa<FloatType>(getElement())) // bucket_c2
    return emitOpError() << "holds elements of type " << getElement()
                         << ", but only floating-point parameters are trained";
  llvm::StringSet<> names;
  int64_t end = 0;
  SlotAttr previous;
  for (SlotAttr slot : getSlots().getAsRange<SlotAttr>()) {
    if (!names.insert(slot.getName()).second) // bucket_c3
      return emitOpError() << "has two slots '" << slot.getName() << "'";
    for (int64_t size : slot.getShape())
      if (size < 0) // bucket_c4
        return emitOpError() << "slot '" << slot.getName() << "' has a dimension of size " << size;
    if (slot.getOffset() % kCellElements != 0) // bucket_c5
      return emitOpError() << "slot '" << slot.getName() << "' starts at element " << slot.getOffset()
                           << ", which is not a multiple of " << kCellElements;
    if (slot.getOffset() < end) { // bucket_c6
      InFlightDiagnostic diagnostic = emitOpError() << "slot '" << slot.getName() << "' starts at element "
                                                    << slot.getOffset();
      if (previous)
        diagnostic << ", but slot '" << previous.getName() << "' before it ends at element " << end;
      else
        diagnostic << ", before the bucket does";
      return diagnostic;
    }
    end = slot.getOffset() + slot.getNumElements();
    previous = slot;
  }
  if (end > static_cast<int64_t>(getElements())) // bucket_c7
    return emitOpError() << "has " << getElements() << " elements, but slot '" << previous.getName()
                         << "' ends at element " << end;
  return success();
}

LogicalResult BucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto mesh = symbols.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr());
  if (!mesh) // bucket_c1
    return emitOpError() << "is on mesh " << getMeshAttr() << ", but there is no such zero.mesh";
  int64_t unit = kCellElements * mesh.getSize();
  if (getElements() < 1 || getElements() % unit != 0) // bucket_c8
    return emitOpError() << "has " << getElements() << " elements, which is not a positive multiple of "
                         << kCellElements << " x " << mesh.getSize() << " ranks of mesh " << getMeshAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// Views of buckets
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verifySymbolUses(SymbolTableCollection &symbols) {
  BucketOp bucket = lookUpBucket(*this, getBucketSymbol(getBucket().getType()), symbols); // view_c1
  if (!bucket)
    return failure();
  SlotAttr slot = bucket.getSlot(getSlot());
  if (!slot) { // view_c2
    InFlightDiagnostic diagnostic = emitOpError()
                                    << "reads slot '" << getSlot() << "', but the bucket has no such slot";
    diagnostic.attachNote(bucket.getLoc()) << "bucket @" << bucket.getSymName() << " is declared here";
    return diagnostic;
  }
  RankedTensorType type = getSlotType(bucket, slot);
  if (getType() != type) { // view_c3
    InFlightDiagnostic diagnostic = emitOpError() << "result has type " << getType() << ", but slot '"
                                                  << getSlot() << "' is " << type;
    diagnostic.attachNote(bucket.getLoc()) << "bucket @" << bucket.getSymName() << " is declared here";
    return diagnostic;
  }
  return success();
}

static LogicalResult verifySameBucket(Operation *op, Type operand, Type result) {
  const bool bucket = getBucketSymbol(operand) == getBucketSymbol(result);
  if (bucket && getOwnElement(operand) == getOwnElement(result))
    return success();
  return op->emitOpError() << "takes " << operand << " and gives " << result << ": two different "
                           << (bucket ? "elements" : "buckets");
}

LogicalResult ShardOfOp::verify() {
  return verifySameBucket(*this, getFull().getType(), getType()); // shard_of_c1
}

LogicalResult AliasOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr symbol = getBucketSymbol(getType());
  if (failed(verifySameBucket(*this, getOperand().getType(), getType()))) // alias_c1
    return failure();
  BucketOp bucket = lookUpBucket(*this, symbol, symbols); // alias_c2
  if (!bucket)
    return failure();
  auto mesh = symbols.lookupNearestSymbolFrom<MeshOp>(bucket, bucket.getMeshAttr());
  if (mesh && mesh.getSize() != 1) { // alias_c3
    InFlightDiagnostic diagnostic = emitOpError()
                                    << "stands for a collective over 1 rank, but mesh "
                                    << bucket.getMeshAttr() << " has " << mesh.getSize() << " ranks";
    diagnostic.attachNote(mesh.getLoc()) << "the mesh is declared here";
    return diagnostic;
  }
  return success();
}

OpFoldResult AliasOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  auto inner = getOperand().getDefiningOp<AliasOp>();
  if (!inner)
    return {};
  if (inner.getOperand().getType() == getType())
    return inner.getOperand();
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

LogicalResult PackOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getType().getBucket() != getBucketAttr() || getType().getElement()) // pack_c1
    return emitOpError() << "fills bucket " << getBucketAttr() << ", but gives " << getType();
  BucketOp bucket = lookUpBucket(*this, getBucketAttr(), symbols); // pack_c2
  if (!bucket)
    return failure();
  if (getGradients().size() != bucket.getSlots().size()) { // pack_c3
    InFlightDiagnostic diagnostic = emitOpError()
                                    << "has " << getGradients().size() << " operands, but bucket @"
                                    << bucket.getSymName() << " has " << bucket.getSlots().size() << " slots";
    diagnostic.attachNote(bucket.getLoc()) << "the bucket is declared here";
    return diagnostic;
  }
  for (auto [slot, gradient] : llvm::zip_equal(bucket.getSlots().getAsRange<SlotAttr>(), getGradients()))
    if (gradient.getType() != getSlotType(bucket, slot)) // pack_c4
      return emitOpError() << "operand of slot '" << slot.getName() << "' has type " << gradient.getType()
                           << ", but the slot is " << getSlotType(bucket, slot);
  return success();
}

LogicalResult ConvertOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Type from = getOperand().getType(), to = getType();
  if (getBucketSymbol(from) != getBucketSymbol(to)) // convert_c1
    return emitOpError() << "takes " << from << " and gives " << to << ": two different buckets";
  BucketOp bucket = lookUpBucket(*this, getBucketSymbol(to), symbols); // convert_c2
  if (!bucket)
    return failure();
  Type before = zero::sharding::getElement(bucket, from), after = zero::sharding::getElement(bucket, to);
  if (before == after || !isa<FloatType>(before) || !isa<FloatType>(after)) // convert_c3
    return emitOpError() << "converts elements of type " << before << " to " << after << ", but it is for two different floats";
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static LogicalResult verifyFuture(Operation *op, Type operand, Type expected) {
  Type given = op->getResult(0).getType();
  Type future = FutureType::get(op->getContext(), expected);
  if (given != future)
    return op->emitOpError() << "of " << operand << " gives " << future << ", but its result has type "
                             << given;
  return success();
}

LogicalResult AllGatherStartOp::verify() { // all_gather_start_c1
  ShardType shard = getShard().getType();
  return verifyFuture(*this, shard, FullType::get(getContext(), shard.getBucket(), shard.getElement()));
}

/// A sum of `partial`, held as `Reduced`, in any element.
template <typename Reduced> static LogicalResult verifySum(Operation *op, PartialType partial) {
  Type element = getOwnElement(op->getResult(0).getType());
  if (failed(verifyFuture(op, partial, Reduced::get(op->getContext(), partial.getBucket(), element))))
    return failure();
  if (element && !isa<FloatType>(element))
    return op->emitOpError() << "rounds its sum to " << element << ", but gradients are floats";
  return success();
}

LogicalResult ReduceScatterStartOp::verify() {
  // reduce_scatter_start_c1
  // reduce_scatter_start_c2
  return verifySum<ShardType>(*this, getPartial().getType());
}

LogicalResult AllReduceStartOp::verify() {
  // all_reduce_start_c1
  // all_reduce_start_c2
  return verifySum<FullType>(*this, getPartial().getType());
}

LogicalResult WaitOp::verify() {
  if (getType() != getFuture().getType().getValue()) // wait_c1
    return emitOpError() << "of " << getFuture().getType() << " gives " << getFuture().getType().getValue()
                         << ", but its result has type " << getType();
  return success();
}

LogicalResult ControlSumOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape()) // control_sum_c2
    return emitOpError() << "has type " << type << ", but only tensors of static shape are summed over ranks";
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(64)) // control_sum_c3
    return emitOpError() << "has elements of type " << element
                         << ", but only f32, f64 and i64 are summed over ranks at once";
  return success();
}

LogicalResult ControlSumOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr())) // control_sum_c1
    return emitOpError() << "is on mesh " << getMeshAttr() << ", but there is no such zero.mesh";
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients and updates
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::verify() {
  Type type = getType(), value = getValue().getType();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!isa<ShardType, FullType, PartialType>(type) && !(tensor && tensor.getRank() == 0)) // accumulate_c1
    return emitOpError() << "adds values of type " << type << ", but only buckets and 0-d tensors accumulate";
  if (value != type && !isHeldAlike(value, type)) // accumulate_c2
    return emitOpError() << "adds a value of type " << value << " to an accumulator of type " << type;
  return success();
}

LogicalResult SumSquaresOp::verify() {
  if (getGradients().empty()) // sum_squares_c1
    return emitOpError() << "has no operand";
  bool sharded = isa<ShardType>(getGradients().front().getType());
  llvm::SmallDenseSet<Attribute> buckets;
  for (Value gradient : getGradients()) {
    if (isa<ShardType>(gradient.getType()) != sharded) // sum_squares_c2
      return emitOpError()
             << "mixes " << getGradients().front().getType() << " and " << gradient.getType()
             << ": sums over shards are still to be added over ranks, sums over whole buckets are not";
    if (!buckets.insert(getBucketSymbol(gradient.getType())).second) // sum_squares_c3
      return emitOpError() << "counts bucket " << getBucketSymbol(gradient.getType()) << " twice";
  }
  if (getType() !=
      RankedTensorType::get({kExactSumWords}, IntegerType::get(getContext(), 64))) // sum_squares_c4
    return emitOpError() << "gives " << getType() << ", but an exact sum is " << kExactSumWords
                         << " integers of 64 bits";
  return success();
}

LogicalResult SumSquaresOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Type first;
  for (Value gradient : getGradients()) {
    BucketOp bucket = lookUpBucket(*this, getBucketSymbol(gradient.getType()), symbols);
    if (!bucket)
      return failure();
    Type element = zero::sharding::getElement(bucket, gradient.getType());
    if (first && element != first) // sum_squares_c5
      return emitOpError() << "counts elements of types " << first << " and " << element << ", but one kernel counts one type";
    first = element;
  }
  return success();
}

LogicalResult UpdateOp::verify() {
  if (getStates().size() < 2) // update_c1
    return emitOpError() << "has " << getStates().size()
                         << " states, but needs at least the parameter and its gradient";
  Type type = getStates().front().getType();
  for (Value state : getStates())
    if (!isHeldAlike(state.getType(), type) || getBucketSymbol(state.getType()) != getBucketAttr()) // update_c2
      return emitOpError() << "of bucket " << getBucketAttr() << " has states of type " << type << " and "
                           << state.getType() << ", but all are its shards or all are whole";
  if (getResults().size() != getStates().size() - 1) // update_c3
    return emitOpError() << "has " << getResults().size() << " results for " << getStates().size()
                         << " states, but gives each state but the gradient";
  for (OpResult result : getResults())
    if (Type state = getStates()[getUpdatedState(result.getResultNumber())].getType(); result.getType() != state) // update_c4
      return emitOpError() << "gives " << result.getType() << " as result #" << result.getResultNumber() << ", but its state is " << state;
  Block &body = getBody().front();
  size_t expected = getStates().size() + getScalars().size();
  if (body.getNumArguments() != expected) // update_c5
    return emitOpError() << "body has " << body.getNumArguments() << " arguments, but there are "
                         << getStates().size() << " states and " << getScalars().size() << " scalars";
  for (auto [argument, scalar] :
       llvm::zip_equal(body.getArguments().drop_front(getStates().size()), getScalars()))
    if (argument.getType() != scalar.getType()) // update_c6
      return emitOpError() << "body argument " << argument.getArgNumber() << " has type "
                           << argument.getType() << ", but the scalar is " << scalar.getType();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getNumOperands() != getResults().size()) // update_c7
    return emitOpError() << "body yields " << body.getTerminator()->getNumOperands()
                         << " values, but the update has " << getResults().size() << " results";
  return success();
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  BucketOp bucket = lookUpBucket(*this, getBucketAttr(), symbols); // update_c8
  if (!bucket)
    return failure();
  Block &body = getBody().front();
  auto check = [&](const Twine &what, Type given, Value state) -> LogicalResult {
    auto element = RankedTensorType::get({}, zero::sharding::getElement(bucket, state.getType()));
    if (given == element)
      return success();
    return emitOpError() << "body " << what << " " << given << ", but an element of " << state.getType() << " is " << element;
  };
  for (auto [argument, state] : llvm::zip(body.getArguments(), getStates()))
    if (failed(check("argument " + Twine(argument.getArgNumber()) + " has type", argument.getType(), state))) // update_c9
      return failure();
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (failed(check("yields", value.getType(), getStates()[getUpdatedState(index)]))) // update_c10
      return failure();
  return success();
}

} // namespace zero::sharding
