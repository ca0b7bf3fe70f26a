//===- PartitionState.cpp - zero-partition-state --------------------------===//
//
// With the optimizer state, gradients and parameters sharded (stage 3), 2 ranks, @b0 = [w, b]:
//
//   func.func @micro(%x, %w {parameter "w"}, %b {parameter "b"}) -> (.., {gradient "w"}, {gradient "b"}) {
//     .. return .., %dw, %db
//   }
//   func.func @update(%w, %b, %dw, %db, %lr ..) -> ({parameter "w"}, {parameter "b"}) {
//     %w1 = nn.sgd %w, %dw scale %lr lr %lr
//     %b1 = nn.sgd %b, %db scale %lr lr %lr
//     return %w1, %b1
//   }
// becomes
//   func.func @micro(%x, %s: !zero.shard<@b0> {parameter "b0"}) -> (.., !zero.shard<@b0> {gradient "b0"}) {
//     %f = builtin.unrealized_conversion_cast %s : !zero.shard<@b0> to !zero.full<@b0>     // a gather
//     %w = zero.view %f["w"]
//     %b = zero.view %f["b"]
//     ..
//     %p = zero.pack @b0 (%dw, %db)
//     %g = builtin.unrealized_conversion_cast %p : !zero.partial<@b0> to !zero.shard<@b0>  // a reduction
//     return .., %g
//   }
//   func.func @update(%s: !zero.shard<@b0>, %g: !zero.shard<@b0>, ..)
//       -> (!zero.shard<@b0> {parameter "b0"}) {
//     %s1 = zero.update @b0 (%s, %g) scalars(%lr, %lr) { nn.sgd on one element }
//     return %s1
//   }
//
// States keep the elements that they have: master weights and moments of bf16 parameters become !zero.shard<@b0, f32>.
// @predict takes its parameters as @micro does.
// Each cast says that a value changes hands; zero-insert-collectives puts collectives in their place.
// Test: test/Transforms/Zero/partition-state.mlir
//
//===----------------------------------------------------------------------===//
#include "StepFunctions.h"
#include "UpdatePartition.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROPARTITIONSTATE
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

/// A ZeRO stage as what it is: the set of state kinds that are sharded.
struct ShardedKinds {
  bool optimizer = false, gradient = false, parameter = false;

  static ShardedKinds ofStage(int64_t stage) { return {stage >= 1, stage >= 2, stage >= 3}; }
};

class ZeroPartitionState : public impl::ZeroPartitionStateBase<ZeroPartitionState> {
public:
  using ZeroPartitionStateBase::ZeroPartitionStateBase;
  void runOnOperation() override {
    if (isForwardOnly(getOperation())) {
      if (failed(check()))
        signalPassFailure();
      return;
    }
    FailureOr<func::FuncOp> micro = getStepFunction(getOperation(), "micro"), update = failure();
    if (succeeded(micro))
      update = getStepFunction(getOperation(), "update");
    if (failed(update) || failed(check()) || failed(assignStates(*update)) || failed(collectParameters(*micro)))
      return signalPassFailure();
    if (failed(partitionMicro(*micro)) || failed(partitionUpdate(*update, states)))
      return signalPassFailure();
    if (func::FuncOp predict = getPredict(getOperation()))
      if (failed(collectParameters(predict)) || failed(replaceParameters(predict)))
        signalPassFailure();
  }

private:
  LogicalResult check() {
    if (stage < 0 || stage > 3)
      return emitError(getOperation().getLoc()) << "stage is " << int64_t(stage) << ", expected 0 to 3";
    return success();
  }

  /// Decides for each bucket who holds what. Reduced gradients have the elements that @update takes.
  LogicalResult assignStates(func::FuncOp update) {
    llvm::StringMap<Type> gradientElements;
    for (BlockArgument argument : update.getArguments())
      if (nn::RoleAttr role = getArgumentRole(update, argument.getArgNumber()); role && role.getKind() == nn::RoleKind::Gradient)
        gradientElements[role.getName()] = getElementTypeOrSelf(argument.getType());

    FailureOr<MeshOp> mesh = getMesh(getOperation());
    if (failed(mesh))
      return failure();
    // With one rank there is nobody to share with: all stages are one.
    const ShardedKinds kinds = mesh->getSize() == 1 ? ShardedKinds() : ShardedKinds::ofStage(stage);
    for (BucketOp bucket : getOperation().getOps<BucketOp>()) {
      auto symbol = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
      Type shard = ShardType::get(&getContext(), symbol), full = FullType::get(&getContext(), symbol);
      bool persists = llvm::all_of(bucket.getSlots().getAsRange<SlotAttr>(), [&](SlotAttr slot) {
        return slot.getNumElements() < persistenceThreshold;
      });
      Type updated = kinds.optimizer ? shard : full;
      BucketStates state{bucket, kinds.parameter && !persists ? shard : full, updated, updated};
      // UpdatePartition.cpp says where a gradient is missing or the slots of a bucket differ.
      if (!bucket.getSlots().empty())
        if (Type element = gradientElements.lookup(cast<SlotAttr>(bucket.getSlots()[0]).getName()))
          state.gradient = withElement(bucket, updated, element);
      // The gradient is needed where the update is; not sharded, its state is a whole buffer all the same.
      state.wholeGradient = kinds.optimizer && !kinds.gradient;
      for (auto [index, slot] : llvm::enumerate(bucket.getSlots().getAsRange<SlotAttr>())) {
        auto [known, inserted] =
            states.slots.try_emplace(slot.getName(), SlotPlace{states.buckets.size(), index});
        if (!inserted)
          return bucket.emitOpError() << "has a slot '" << slot.getName() << "', as bucket @"
                                      << states.buckets[known->second.bucket].bucket.getSymName() << " has";
      }
      states.buckets.push_back(state);
    }
    if (states.buckets.empty())
      return emitError(getOperation().getLoc(), "module has no zero.bucket; run zero-assign-buckets first");
    return success();
  }

  /// Each slot is a parameter of @micro, each parameter has a slot.
  LogicalResult collectParameters(func::FuncOp function) {
    parameters.clear();
    for (BlockArgument argument : function.getArguments()) {
      nn::RoleAttr role = getArgumentRole(function, argument.getArgNumber());
      if (!role || role.getKind() != nn::RoleKind::Parameter)
        continue;
      if (!states.slots.contains(role.getName()))
        return emitError(argument.getLoc())
               << "parameter '" << role.getName() << "' is in no bucket; zero-assign-buckets lays all out";
      parameters[role.getName()] = argument;
    }
    for (BucketStates &state : states.buckets)
      for (SlotAttr slot : state.bucket.getSlots().getAsRange<SlotAttr>())
        if (!parameters.contains(slot.getName()))
          return state.bucket.emitOpError() << "has a slot '" << slot.getName() << "', but @"
                                            << function.getSymName() << " has no such parameter";
    return success();
  }

  LogicalResult partitionMicro(func::FuncOp micro) {
    if (failed(replaceGradients(micro)))
      return failure();
    return replaceParameters(micro);
  }

  /// One argument and its views for each bucket instead of the parameters.
  LogicalResult replaceParameters(func::FuncOp function) {
    unsigned place = function.getNumArguments();
    for (auto &parameter : parameters)
      place = std::min(place, parameter.second.getArgNumber());
    ArgumentList arguments;
    for (BucketStates &state : states.buckets) {
      FailureOr<DictionaryAttr> attrs = getParameterAttrs(function, state.bucket);
      if (failed(attrs))
        return failure();
      arguments.add(state.parameter, *attrs, state.bucket.getLoc());
    }
    OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
    for (auto [state, argument] : llvm::zip_equal(states.buckets, arguments.insertInto(function, place))) {
      Location loc = state.bucket.getLoc();
      Value whole = argument;
      Type full = FullType::get(&getContext(), FlatSymbolRefAttr::get(state.bucket.getSymNameAttr()));
      bool read = llvm::any_of(state.bucket.getSlots().getAsRange<SlotAttr>(),
                               [&](SlotAttr slot) { return !parameters.lookup(slot.getName()).use_empty(); });
      if (!read)
        continue;
      if (whole.getType() != full)
        whole = UnrealizedConversionCastOp::create(builder, loc, full, whole).getResult(0);
      for (SlotAttr slot : state.bucket.getSlots().getAsRange<SlotAttr>()) {
        BlockArgument parameter = parameters.lookup(slot.getName());
        if (parameter.use_empty())
          continue;
        parameter.replaceAllUsesWith(
            ViewOp::create(builder, parameter.getLoc(), parameter.getType(), whole, slot.getName()));
      }
    }
    BitVector replaced(function.getNumArguments());
    for (auto &parameter : parameters)
      replaced.set(parameter.second.getArgNumber());
    return function.eraseArguments(replaced);
  }

  /// The role of the bucket and where its slots' initial values are, in slot order.
  FailureOr<DictionaryAttr> getParameterAttrs(func::FuncOp function, BucketOp bucket) {
    SmallVector<Attribute> data;
    SlotAttr without;
    for (SlotAttr slot : bucket.getSlots().getAsRange<SlotAttr>()) {
      BlockArgument parameter = parameters.lookup(slot.getName());
      if (Attribute one = function.getArgAttr(parameter.getArgNumber(), nn::kDataAttrName))
        data.push_back(one);
      else
        without = slot;
    }
    NamedAttrList attrs(makeRole(&getContext(), nn::RoleKind::Parameter, bucket.getSymName()));
    if (without && !data.empty()) {
      emitError(parameters.lookup(without.getName()).getLoc())
          << "parameter '" << without.getName() << "' has no nn.data, but others of bucket @"
          << bucket.getSymName() << " have";
      return failure();
    }
    if (!data.empty())
      attrs.set(nn::kDataAttrName, ArrayAttr::get(&getContext(), data));
    return attrs.getDictionary(&getContext());
  }

  /// One packed result for each bucket instead of the gradients.
  LogicalResult replaceGradients(func::FuncOp micro) {
    ResultList old(micro), results;
    llvm::StringMap<Value> gradients;
    for (auto [index, value] : llvm::enumerate(old.values))
      if (nn::RoleAttr role = getResultRole(micro, index); role && role.getKind() == nn::RoleKind::Gradient)
        gradients[role.getName()] = value;
    OpBuilder builder(micro.front().getTerminator());
    bool packed = false;
    for (auto [index, value] : llvm::enumerate(old.values)) {
      nn::RoleAttr role = getResultRole(micro, index);
      if (!role || role.getKind() != nn::RoleKind::Gradient) {
        results.add(value, old.attrs[index]);
        continue;
      }
      if (packed)
        continue;
      packed = true;
      for (BucketStates &state : states.buckets)
        if (failed(packGradients(micro, state, gradients, builder, results)))
          return failure();
    }
    if (!packed)
      return emitError(micro.getLoc(), "@micro returns no gradient; run nn-build-backward first");
    results.assignTo(micro);
    return success();
  }

  LogicalResult packGradients(func::FuncOp micro, BucketStates &state,
                              const llvm::StringMap<Value> &gradients, OpBuilder &builder,
                              ResultList &results) {
    BucketOp bucket = state.bucket;
    auto symbol = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
    SmallVector<Value> operands;
    for (SlotAttr slot : bucket.getSlots().getAsRange<SlotAttr>()) {
      Value gradient = gradients.lookup(slot.getName());
      Type type = parameters.lookup(slot.getName()).getType();
      if (!gradient)
        return emitError(micro.getLoc()) << "@micro returns no gradient of parameter '" << slot.getName()
                                         << "'; nn-build-backward returns all";
      if (gradient.getType() != type)
        return emitError(micro.getLoc()) << "gradient '" << slot.getName() << "' has type "
                                         << gradient.getType() << ", but the parameter is " << type;
      operands.push_back(gradient);
    }
    Value partial =
        PackOp::create(builder, bucket.getLoc(), PartialType::get(&getContext(), symbol), symbol, operands);
    NamedAttrList attrs(makeRole(&getContext(), nn::RoleKind::Gradient, bucket.getSymName()));
    if (state.wholeGradient)
      attrs.set(kWholeBufferAttrName, builder.getUnitAttr());
    results.add(
        UnrealizedConversionCastOp::create(builder, bucket.getLoc(), state.gradient, partial).getResult(0),
        attrs.getDictionary(&getContext()));
    return success();
  }

  BucketStatesOfModule states;
  llvm::StringMap<BlockArgument> parameters; // of the function at work, by name
};

} // namespace
} // namespace zero
