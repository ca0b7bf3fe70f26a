//===- UpdatePartition.cpp - @update over buckets instead of parameters ---===//
#include "UpdatePartition.h"
#include "zero/Runtime/Base/NumberText.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;

namespace zero::sharding {

namespace {

/// The update of one parameter, as nn-append-optimizer wrote it.
struct ParameterUpdate {
  struct State {
    nn::RoleKind kind;
    Type element;
    bool operator==(const State &) const = default;
  };

  Operation *op = nullptr;
  SmallVector<State> states; // of the operands that are states, in order
};

class UpdatePartition {
public:
  UpdatePartition(func::FuncOp update, BucketStatesOfModule &states)
      : update(update), states(states), updates(states.buckets.size()), arguments(states.buckets.size()),
        results(states.buckets.size()) {
    for (auto [index, bucket] : llvm::enumerate(states.buckets))
      updates[index].resize(bucket.bucket.getSlots().size());
  }

  LogicalResult run() {
    if (failed(collectUpdates()) || failed(checkUpdates()) || failed(checkUses()))
      return failure();
    insertArguments();
    for (size_t bucket = 0; bucket < states.buckets.size(); ++bucket)
      replaceUpdates(bucket);
    for (nn::GlobalNormOp norm : llvm::make_early_inc_range(update.front().getOps<nn::GlobalNormOp>()))
      if (failed(replaceNorm(norm)))
        return failure();
    if (failed(replaceResults()))
      return failure();
    for (auto &ofBucket : updates)
      for (ParameterUpdate &one : ofBucket)
        one.op->erase();
    return eraseArguments();
  }

private:
  nn::RoleAttr getStateRole(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    nn::RoleAttr role = argument ? getArgumentRole(update, argument.getArgNumber()) : nn::RoleAttr();
    return role && isBucketRole(role.getKind()) ? role : nn::RoleAttr();
  }
  static bool isUpdate(Operation *op) { return isa<nn::AdamOp, nn::SgdOp>(op); }
  StringRef getSlotName(size_t bucket, size_t slot) {
    return cast<SlotAttr>(states.buckets[bucket].bucket.getSlots()[slot]).getName();
  }

  LogicalResult collectUpdates() {
    for (Operation &op : update.front()) {
      if (!isUpdate(&op))
        continue;
      ParameterUpdate one{&op, {}};
      nn::RoleAttr parameter = getStateRole(op.getOperand(0));
      if (!parameter || parameter.getKind() != nn::RoleKind::Parameter)
        return op.emitOpError("updates a value that is no parameter of @update; only the parameters "
                              "themselves can be partitioned");
      for (Value operand : op.getOperands()) {
        nn::RoleAttr role = getStateRole(operand);
        if (!role) {
          auto type = cast<RankedTensorType>(operand.getType());
          if (type.getRank() != 0 || !type.getElementType().isF32())
            return op.emitOpError() << "of parameter '" << parameter.getName() << "' takes a value of type "
                                    << type << " that is no state; expected states and 0-d f32 tensors";
          continue;
        }
        if (role.getName() != parameter.getName())
          return op.emitOpError() << "of parameter '" << parameter.getName() << "' takes the "
                                  << nn::stringifyRoleKind(role.getKind()) << " of '" << role.getName()
                                  << "'";
        one.states.push_back({role.getKind(), cast<RankedTensorType>(operand.getType()).getElementType()});
      }
      auto place = states.slots.find(parameter.getName());
      if (place == states.slots.end())
        return op.emitOpError() << "updates parameter '" << parameter.getName() << "', which is in no bucket";
      ParameterUpdate &known = updates[place->second.bucket][place->second.slot];
      if (known.op) {
        InFlightDiagnostic error = op.emitOpError()
                                   << "updates parameter '" << parameter.getName() << "' a second time";
        error.attachNote(known.op->getLoc()) << "the first update is here";
        return error;
      }
      known = one;
    }
    return success();
  }

  /// One body serves all slots of a bucket, so that all must be updated alike.
  LogicalResult checkUpdates() {
    for (auto [bucket, ofBucket] : llvm::enumerate(updates)) {
      for (auto [slot, one] : llvm::enumerate(ofBucket)) {
        if (!one.op)
          return emitError(update.getLoc())
                 << "@update has no nn.adam or nn.sgd of parameter '" << getSlotName(bucket, slot)
                 << "'; nn-append-optimizer makes one";
        if (slot != 0 && failed(checkAlike(bucket, slot)))
          return failure();
      }
    }
    return success();
  }

  LogicalResult checkAlike(size_t bucket, size_t slot) {
    const ParameterUpdate &first = updates[bucket].front(), &other = updates[bucket][slot];
    auto fail = [&](const Twine &what) {
      InFlightDiagnostic error = other.op->emitOpError()
                                 << "updates parameter '" << getSlotName(bucket, slot) << "' " << what
                                 << " than '" << getSlotName(bucket, 0) << "', but both are in bucket @"
                                 << StringRef(states.buckets[bucket].bucket.getSymName());
      error.attachNote(first.op->getLoc()) << "'" << getSlotName(bucket, 0) << "' is updated here";
      return error;
    };
    if (first.op->getName() != other.op->getName() || first.states != other.states)
      return fail("by another optimizer");
    auto text = [](Attribute attribute) -> std::string {
      if (!attribute)
        return "absent";
      if (isa<UnitAttr>(attribute))
        return "set";
      if (auto number = dyn_cast<FloatAttr>(attribute))
        return shortestText(number.getValueAsDouble());
      return llvm::formatv("{0}", attribute);
    };
    llvm::SetVector<StringAttr> names;
    DictionaryAttr firstAttrs = first.op->getAttrDictionary(), otherAttrs = other.op->getAttrDictionary();
    for (NamedAttribute attribute :
         llvm::concat<const NamedAttribute>(firstAttrs.getValue(), otherAttrs.getValue()))
      if (attribute.getName() != "operandSegmentSizes")
        names.insert(attribute.getName());
    for (StringAttr name : names)
      if (firstAttrs.get(name) != otherAttrs.get(name))
        return fail("with another " + name.getValue() + " (" + text(otherAttrs.get(name)) + " and " +
                    text(firstAttrs.get(name)) + ")");
    for (auto [a, b] : llvm::zip_equal(first.op->getOperands(), other.op->getOperands()))
      if (a != b && !getStateRole(a))
        return fail("with another scalar");
    return success();
  }

  LogicalResult checkUses() {
    for (BlockArgument argument : update.getArguments()) {
      nn::RoleAttr role = getStateRole(argument);
      if (!role)
        continue;
      for (Operation *user : argument.getUsers())
        if (!isUpdate(user) && !(isa<nn::GlobalNormOp>(user) && role.getKind() == nn::RoleKind::Gradient))
          return user->emitOpError() << "reads " << nn::stringifyRoleKind(role.getKind()) << " '"
                                     << role.getName()
                                     << "' in @update, where only nn.adam, nn.sgd and, of gradients, "
                                        "nn.global_norm can be partitioned";
    }
    return success();
  }

  /// As zero.update takes and gives it.
  Type getUpdatedType(const BucketStates &bucket, const ParameterUpdate::State &state) {
    return state.kind == nn::RoleKind::Gradient ? bucket.gradient
                                                : withElement(bucket.bucket, bucket.updated, state.element);
  }
  Type getStateType(const BucketStates &bucket, const ParameterUpdate::State &state) {
    return state.kind == nn::RoleKind::Parameter ? bucket.parameter : getUpdatedType(bucket, state);
  }

  /// One argument for each kind of state and bucket, where the first argument of the kind stands.
  void insertArguments() {
    SmallVector<nn::RoleKind> kinds;
    for (unsigned index = 0; index < update.getNumArguments(); ++index) {
      nn::RoleAttr role = getArgumentRole(update, index);
      if (!role || !isBucketRole(role.getKind()) || llvm::is_contained(kinds, role.getKind()))
        continue;
      kinds.push_back(role.getKind());
      ArgumentList list;
      SmallVector<size_t> numbers;
      for (auto [number, bucket] : llvm::enumerate(states.buckets)) {
        const auto *state = llvm::find_if(updates[number].front().states, [&](auto &each) { return each.kind == role.getKind(); });
        if (state == updates[number].front().states.end())
          continue;
        BucketOp op = bucket.bucket;
        list.add(getStateType(bucket, *state), makeRole(update.getContext(), role.getKind(), op.getSymName()),
                 op.getLoc());
        numbers.push_back(number);
      }
      for (auto [number, argument] : llvm::zip_equal(numbers, list.insertInto(update, index)))
        arguments[number][role.getKind()] = argument;
      index += numbers.size();
    }
  }

  void replaceUpdates(size_t number) {
    const BucketStates &bucket = states.buckets[number];
    MutableArrayRef<ParameterUpdate> ofBucket = updates[number];
    Operation *first = ofBucket.front().op, *last = first;
    for (ParameterUpdate &one : ofBucket)
      if (last->isBeforeInBlock(one.op))
        last = one.op;
    OpBuilder builder(last);
    BucketOp op = bucket.bucket;
    SmallVector<Value> stateValues, scalars;
    SmallVector<Type> types;
    for (const ParameterUpdate::State &state : ofBucket.front().states) {
      Value value = arguments[number][state.kind];
      Type type = getUpdatedType(bucket, state);
      if (value.getType() != type)
        value = ShardOfOp::create(builder, op.getLoc(), type, value);
      stateValues.push_back(value);
      if (state.kind != nn::RoleKind::Gradient)
        types.push_back(type);
    }
    for (Value operand : first->getOperands())
      if (!getStateRole(operand))
        scalars.push_back(operand);
    auto updateOp = UpdateOp::create(builder, op.getLoc(), types, FlatSymbolRefAttr::get(op.getSymNameAttr()),
                                     stateValues, scalars);
    makeBody(updateOp, first, op);
    results[number].assign(updateOp.getResults().begin(), updateOp.getResults().end());
  }

  /// The parameter's update on one element: the same op on 0-d tensors.
  void makeBody(UpdateOp updateOp, Operation *update, BucketOp bucket) {
    Block &body = updateOp.getBody().emplaceBlock();
    auto elementOf = [&](Value state) { return RankedTensorType::get({}, getElement(bucket, state.getType())); };
    for (Value state : updateOp.getStates())
      body.addArgument(elementOf(state), update->getLoc());
    for (Value scalar : updateOp.getScalars())
      body.addArgument(scalar.getType(), update->getLoc());
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    OperationState state(update->getLoc(), update->getName());
    unsigned nextState = 0, nextScalar = updateOp.getStates().size();
    for (Value operand : update->getOperands())
      state.operands.push_back(body.getArgument(getStateRole(operand) ? nextState++ : nextScalar++));
    for (Value result : updateOp.getResults())
      state.types.push_back(elementOf(result));
    state.addAttributes(update->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = update->getPropertiesAsAttribute();
    Operation *one = builder.create(state);
    YieldOp::create(builder, update->getLoc(), one->getResults());
  }

  LogicalResult replaceNorm(nn::GlobalNormOp norm) {
    if (!cast<RankedTensorType>(norm.getType()).getElementType().isF32())
      return norm.emitOpError() << "has type " << norm.getType() << ", but the exact norm is f32";
    llvm::StringSet<> counted;
    for (Value operand : norm.getOperands()) {
      nn::RoleAttr role = getStateRole(operand);
      if (!role)
        return norm.emitOpError("is of a value that is no gradient of @update");
      if (!counted.insert(role.getName()).second)
        return norm.emitOpError() << "counts gradient '" << role.getName() << "' twice";
    }
    for (auto &slot : states.slots)
      if (!counted.contains(slot.getKey()))
        return norm.emitOpError() << "leaves gradient '" << slot.getKey()
                                  << "' out; the norm of buckets is of all gradients";
    OpBuilder builder(norm);
    llvm::MapVector<Type, SmallVector<Value>> gradients; // by element
    for (auto [bucket, ofBucket] : llvm::zip_equal(states.buckets, arguments))
      gradients[getElement(bucket.bucket, bucket.gradient)].push_back(ofBucket[nn::RoleKind::Gradient]);
    auto sumType = RankedTensorType::get({kExactSumWords}, builder.getI64Type());
    Value sum;
    for (auto &[element, ofElement] : gradients) {
      Value part = SumSquaresOp::create(builder, norm.getLoc(), sumType, ofElement);
      sum = sum ? nn::AddOp::create(builder, norm.getLoc(), sumType, sum, part) : part;
    }
    norm.getResult().replaceAllUsesWith(NormOp::create(builder, norm.getLoc(), norm.getType(), sum));
    norm.erase();
    return success();
  }

  LogicalResult replaceResults() {
    ResultList old(update), list;
    SmallVector<nn::RoleKind> kinds;
    OpBuilder builder(update.front().getTerminator());
    for (auto [index, value] : llvm::enumerate(old.values)) {
      nn::RoleAttr role = getResultRole(update, index);
      if (!role || !isBucketRole(role.getKind())) {
        list.add(value, old.attrs[index]);
        continue;
      }
      auto place = states.slots.find(role.getName());
      std::optional<unsigned> number =
          place == states.slots.end()
              ? std::nullopt
              : getResultNumber(updates[place->second.bucket][place->second.slot], role.getKind());
      if (!number || updates[place->second.bucket][place->second.slot].op->getResult(*number) != value)
        return emitError(update.getLoc())
               << "result #" << index << " of @update, the new " << nn::stringifyRoleKind(role.getKind())
               << " '" << role.getName() << "', is not what updates that state";
      if (llvm::is_contained(kinds, role.getKind()))
        continue;
      kinds.push_back(role.getKind());
      for (auto [bucket, state] : llvm::enumerate(states.buckets)) {
        std::optional<unsigned> ofBucket = getResultNumber(updates[bucket].front(), role.getKind());
        if (!ofBucket)
          continue;
        BucketOp op = state.bucket;
        Value updated = results[bucket][*ofBucket];
        Type type = role.getKind() == nn::RoleKind::Parameter ? state.parameter : updated.getType();
        if (updated.getType() != type)
          updated = UnrealizedConversionCastOp::create(builder, op.getLoc(), type, updated).getResult(0);
        list.add(updated, makeRole(update.getContext(), role.getKind(), op.getSymName()));
      }
    }
    for (auto [bucket, ofBucket] : llvm::enumerate(updates))
      for (const ParameterUpdate::State &state : ofBucket.front().states)
        if (state.kind != nn::RoleKind::Gradient && !llvm::is_contained(kinds, state.kind))
          return emitError(update.getLoc()) << "@update returns no new " << nn::stringifyRoleKind(state.kind)
                                            << " of parameter '" << getSlotName(bucket, 0) << "'";
    list.assignTo(update);
    return success();
  }

  /// The result of an update that is the new value of a state: results are the states but the gradient, in
  /// order.
  std::optional<unsigned> getResultNumber(const ParameterUpdate &one, nn::RoleKind kind) {
    unsigned number = 0;
    for (const ParameterUpdate::State &state : one.states) {
      if (state.kind == nn::RoleKind::Gradient)
        continue;
      if (state.kind == kind)
        return number;
      ++number;
    }
    return std::nullopt;
  }

  LogicalResult eraseArguments() {
    BitVector replaced(update.getNumArguments());
    for (BlockArgument argument : update.getArguments())
      if (getStateRole(argument) && isa<RankedTensorType>(argument.getType()))
        replaced.set(argument.getArgNumber());
    return update.eraseArguments(replaced);
  }

  func::FuncOp update;
  BucketStatesOfModule &states;
  SmallVector<SmallVector<ParameterUpdate>> updates;            // by bucket and slot
  SmallVector<std::map<nn::RoleKind, BlockArgument>> arguments; // by bucket
  SmallVector<SmallVector<Value>> results;                      // by bucket: of its zero.update
};

} // namespace

LogicalResult partitionUpdate(func::FuncOp update, BucketStatesOfModule &states) {
  return UpdatePartition(update, states).run();
}

} // namespace zero::sharding
