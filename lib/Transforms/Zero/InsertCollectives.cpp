//===- InsertCollectives.cpp - zero-insert-collectives --------------------===//
//
//   %f = builtin.unrealized_conversion_cast %s : !zero.shard<@b0> to !zero.full<@b0>
//   %w = zero.view %f["w"]
//   %y = nn.matmul %x, %w           // forward
//   ..
//   %dx = nn.matmul %dy, %w         // backward
//   %dw = nn.matmul %x, %dy
//   .. later ..
//   %p = zero.pack @b0 (%dw)
//   %g = builtin.unrealized_conversion_cast %p : !zero.partial<@b0> to !zero.shard<@b0>
// becomes
//   %f0 = zero.all_gather_start %s  %b0 = zero.wait %f0  %w0 = zero.view %b0["w"]
//   %y = nn.matmul %x, %w0
//   ..
//   %f1 = zero.all_gather_start %s  %b1 = zero.wait %f1  %w1 = zero.view %b1["w"]
//   %dx = nn.matmul %dy, %w1
//   %dw = nn.matmul %x, %dy
//   %p = zero.pack @b0 (%dw)  %fg = zero.reduce_scatter_start %p  %g = zero.wait %fg
// @predict gathers as the forward pass of @micro does.
// Test: test/Transforms/Zero/insert-collectives.mlir
//
//===----------------------------------------------------------------------===//
#include "GatherPlacement.h"
#include "StepFunctions.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROINSERTCOLLECTIVES
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

class ZeroInsertCollectives : public impl::ZeroInsertCollectivesBase<ZeroInsertCollectives> {
public:
  using ZeroInsertCollectivesBase::ZeroInsertCollectivesBase;
  void runOnOperation() override {
    if (isForwardOnly(getOperation())) {
      if (failed(resolveOptions()))
        signalPassFailure();
      return;
    }
    FailureOr<func::FuncOp> micro = getStepFunction(getOperation(), "micro"), update = failure();
    if (succeeded(micro))
      update = getStepFunction(getOperation(), "update");
    if (failed(update) || failed(resolveOptions()) || failed(checkInput(*micro)))
      return signalPassFailure();
    FailureOr<MeshOp> mesh = getMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    meshSize = mesh->getSize();
    buckets.emplace(getOperation());
    reduceInUpdate = reduceAtStep && accumulationSteps > 1 && meshSize > 1;
    chooseGatheredInUpdate(*micro, *update);
    rewriteMicro(*micro);
    rewriteUpdate(*update, *mesh);
    if (func::FuncOp predict = getPredict(getOperation()))
      placeGathers(predict, getGatherCasts(predict));
  }

private:
  LogicalResult resolveOptions() {
    ModuleOp module = getOperation();
    if (stage < 0 || stage > 3)
      return emitError(module.getLoc()) << "stage is " << int64_t(stage) << ", expected 0 to 3";
    if (accumulationSteps < 1)
      return emitError(module.getLoc())
             << "accumulation-steps is " << int64_t(accumulationSteps) << ", expected at least 1";
    if (reduceAt != "" && reduceAt != "step" && reduceAt != "micro_batch")
      return emitError(module.getLoc())
             << "reduce-at is '" << reduceAt.getValue() << "', expected 'step' or 'micro_batch'";
    const bool gradientsSharded = stage >= 2;
    if (reduceAt == "step" && gradientsSharded)
      return emitError(module.getLoc()) << "reduce-at is 'step', but stage " << int64_t(stage)
                                        << " shards gradients, which are reduced in each micro-batch";
    reduceAtStep = reduceAt == "step" || (reduceAt.empty() && !gradientsSharded);
    FailureOr<Type> element = parseElement(module, "wire-element", wireElement);
    if (failed(element))
      return failure();
    elementOfWire = *element;
    return success();
  }

  LogicalResult checkInput(func::FuncOp micro) {
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation()))
      for (Operation &op : function.front())
        if (isa<AllGatherStartOp, ReduceScatterStartOp, AllReduceStartOp, ControlSumOp>(op))
          return op.emitOpError("is there already; zero-insert-collectives runs once");
    for (UnrealizedConversionCastOp cast : getReductionCasts(micro))
      if (!cast.getOperand(0).getDefiningOp<PackOp>())
        return cast.emitOpError(
            "takes contributions that are no zero.pack; zero-partition-state packs gradients");
    for (BlockArgument argument : micro.getArguments())
      if (nn::RoleAttr role = getArgumentRole(micro, argument.getArgNumber());
          role && role.getKind() == nn::RoleKind::Parameter && isa<RankedTensorType>(argument.getType()))
        return emitError(argument.getLoc()) << "parameter '" << role.getName()
                                            << "' is a tensor, not a bucket; run zero-partition-state first";
    return success();
  }

  static SmallVector<UnrealizedConversionCastOp> getCasts(func::FuncOp function,
                                                          llvm::function_ref<bool(Type)> ofOperand) {
    SmallVector<UnrealizedConversionCastOp> casts;
    for (auto cast : function.front().getOps<UnrealizedConversionCastOp>())
      if (cast->getNumOperands() == 1 && ofOperand(cast.getOperand(0).getType()))
        casts.push_back(cast);
    return casts;
  }
  static SmallVector<UnrealizedConversionCastOp> getGatherCasts(func::FuncOp function) {
    return getCasts(function, [](Type type) { return isa<ShardType>(type); });
  }

  static SmallVector<UnrealizedConversionCastOp> getReductionCasts(func::FuncOp function) {
    return getCasts(function, [](Type type) { return isa<PartialType>(type); });
  }

  void rewriteMicro(func::FuncOp micro) {
    placeGathers(micro, getGatherCasts(micro));
    // Last first: of two buckets that are complete at the same op the earlier one is reduced first.
    SmallVector<std::pair<UnrealizedConversionCastOp, Operation *>> reductions;
    for (UnrealizedConversionCastOp cast : getReductionCasts(micro)) {
      reductions.push_back({cast, findLastGradient(cast)});
      Type reduced = cast.getResult(0).getType();
      gradientElements[getBucketSymbol(reduced)] = getElement(buckets->lookup<BucketOp>(getBucketSymbol(reduced).getAttr()), reduced);
    }
    for (auto [cast, last] : llvm::reverse(reductions))
      placeReduction(cast, last);
    if (accumulationSteps > 1)
      accumulate(micro);
    if (!gatheredInUpdate.empty())
      keepRanges(micro);
  }

  /// Where @update needs whole gradients, those that are complete last, up to the first one of at least common size: nothing hides
  /// their gathers in @micro, but in @update other updates do.
  void chooseGatheredInUpdate(func::FuncOp micro, func::FuncOp update) {
    if (meshSize == 1 || accumulationSteps > 1)
      return;
    llvm::DenseSet<Attribute> updated;
    for (auto op : update.front().getOps<UpdateOp>())
      updated.insert(op.getBucketAttr());
    SmallVector<std::pair<Operation *, FlatSymbolRefAttr>> reductions;
    int64_t sum = 0;
    auto getElements = [&](FlatSymbolRefAttr symbol) { return static_cast<int64_t>(buckets->lookup<BucketOp>(symbol.getAttr()).getElements()); };
    for (UnrealizedConversionCastOp cast : getReductionCasts(micro)) {
      Operation *last = findLastGradient(cast);
      FlatSymbolRefAttr symbol = getBucketSymbol(cast.getResult(0).getType());
      if (!isa<FullType>(cast.getResult(0).getType()) || !last || !updated.contains(symbol))
        return;
      reductions.push_back({last, symbol});
      sum += getElements(symbol);
    }
    // Of buckets that are complete at one op the earlier one is reduced first.
    llvm::stable_sort(reductions, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
    // Of one alone no other update hides anything.
    for (auto &[last, symbol] : llvm::reverse(reductions)) {
      if (gatheredInUpdate.size() + 1 == reductions.size())
        break;
      gatheredInUpdate.insert(symbol);
      if (getElements(symbol) * static_cast<int64_t>(reductions.size()) >= sum)
        break;
    }
  }

  /// @micro returns the owned ranges of those gradients, in buffers for all of them.
  void keepRanges(func::FuncOp micro) {
    Operation *end = micro.front().getTerminator();
    for (auto [index, value] : llvm::enumerate(end->getOperands()))
      if (nn::RoleAttr role = getResultRole(micro, index);
          role && role.getKind() == nn::RoleKind::Gradient && gatheredInUpdate.contains(getBucketSymbol(value.getType())))
        micro.setResultAttr(index, kWholeBufferAttrName, UnitAttr::get(&getContext()));
    micro.setType(FunctionType::get(&getContext(), micro.front().getArgumentTypes(), end->getOperandTypes()));
  }

  /// The last op that computes a gradient of the bucket; null where they are arguments.
  static Operation *findLastGradient(UnrealizedConversionCastOp cast) {
    Operation *last = nullptr;
    for (Value gradient : cast.getOperand(0).getDefiningOp<PackOp>().getGradients())
      if (Operation *producer = gradient.getDefiningOp();
          producer && (!last || last->isBeforeInBlock(producer)))
        last = producer;
    return last;
  }

  /// Behind the last gradient of the bucket.
  void placeReduction(UnrealizedConversionCastOp cast, Operation *last) {
    auto pack = cast.getOperand(0).getDefiningOp<PackOp>();
    if (last)
      pack->moveAfter(last);
    OpBuilder builder(pack);
    builder.setInsertionPointAfter(pack);
    Type reduced = cast.getResult(0).getType();
    if (gatheredInUpdate.contains(getBucketSymbol(reduced)))
      reduced = getRangeType(reduced);
    cast.getResult(0).replaceAllUsesWith(
        reduceInUpdate
            ? pack.getResult()
            : createReduction(builder, pack.getLoc(), pack.getResult(), reduced));
    cast.erase();
  }

  /// Of the same element, what a rank owns of it.
  Type getRangeType(Type full) {
    BucketOp bucket = buckets->lookup<BucketOp>(getBucketSymbol(full).getAttr());
    return withElement(bucket, ShardType::get(&getContext(), getBucketSymbol(full)), getElement(bucket, full));
  }

  Value convert(OpBuilder &builder, Location loc, Value partial, BucketOp bucket, Type element) {
    Type type = withElement(bucket, partial.getType(), element);
    return type == partial.getType() ? partial : ConvertOp::create(builder, loc, type, partial).getResult();
  }

  /// What is sent has the wire's element, the parameters' by default; the sum that of `result`.
  Value createReduction(OpBuilder &builder, Location loc, Value partial, Type result) {
    BucketOp bucket = buckets->lookup<BucketOp>(getBucketSymbol(result).getAttr());
    if (meshSize == 1)
      return AliasOp::create(builder, loc, result, convert(builder, loc, partial, bucket, getElement(bucket, result)));
    partial = convert(builder, loc, partial, bucket, elementOfWire ? elementOfWire : bucket.getElement());
    if (isa<ShardType>(result))
      return createCollective<ReduceScatterStartOp>(builder, loc, partial, result);
    return createCollective<AllReduceStartOp>(builder, loc, partial, result);
  }

  /// Gradients, the loss and the count of a micro-batch are added to those of the step, which become
  /// arguments.
  void accumulate(func::FuncOp micro) {
    ResultList results(micro);
    ArgumentList arguments;
    SmallVector<size_t> summed;
    for (auto [index, value] : llvm::enumerate(results.values)) {
      nn::RoleAttr role = getResultRole(micro, index);
      if (!role || (role.getKind() != nn::RoleKind::Gradient && role.getKind() != nn::RoleKind::LossSum &&
                    role.getKind() != nn::RoleKind::LabelCount))
        continue;
      Type type = value.getType();
      if (isa<PartialType>(type)) // it is not reduced yet, but kept as its sum will be
        type = withElement(buckets->lookup<BucketOp>(getBucketSymbol(type).getAttr()), type, gradientElements.lookup(getBucketSymbol(type)));
      arguments.add(type, makeRole(&getContext(), role.getKind(), role.getName()), value.getLoc());
      summed.push_back(index);
    }
    for (auto [index, accumulator] :
         llvm::zip_equal(summed, arguments.insertInto(micro, micro.getNumArguments()))) {
      Value &value = results.values[index];
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfterValue(value);
      value = AccumulateOp::create(builder, value.getLoc(), accumulator.getType(), accumulator, value);
      if (isa<PartialType>(value.getType())) {
        NamedAttrList attrs(results.attrs[index]);
        attrs.erase(kWholeBufferAttrName); // a partial bucket is whole anyway
        results.attrs[index] = attrs.getDictionary(&getContext());
      }
    }
    results.assignTo(micro);
  }

  void rewriteUpdate(func::FuncOp update, MeshOp mesh) {
    if (meshSize == 1)
      return;
    if (reduceInUpdate)
      reduceArguments(update);
    if (!gatheredInUpdate.empty())
      gatherArguments(update);
    sumOverRanks(update, mesh);
    for (UnrealizedConversionCastOp cast : getGatherCasts(update)) {
      OpBuilder builder(cast);
      cast.getResult(0).replaceAllUsesWith(createCollective<AllGatherStartOp>(
          builder, cast.getLoc(), cast.getOperand(0), cast.getResult(0).getType()));
      cast.erase();
    }
  }

  /// Gradients arrive as this rank's sums over its micro-batches.
  void reduceArguments(func::FuncOp update) {
    OpBuilder builder = OpBuilder::atBlockBegin(&update.front());
    for (BlockArgument argument : update.getArguments()) {
      nn::RoleAttr role = getArgumentRole(update, argument.getArgNumber());
      if (!role || role.getKind() != nn::RoleKind::Gradient)
        continue;
      Type reduced = argument.getType();
      FlatSymbolRefAttr symbol = getBucketSymbol(reduced);
      argument.setType(withElement(buckets->lookup<BucketOp>(symbol.getAttr()), PartialType::get(&getContext(), symbol),
                                   gradientElements.lookup(symbol)));
      // What uses it already uses the sum.
      SmallVector<OpOperand *> uses = llvm::map_to_vector(argument.getUses(), [](OpOperand &use) { return &use; });
      Value sum = createReduction(builder, argument.getLoc(), argument, reduced);
      for (OpOperand *use : uses)
        use->set(sum);
    }
    update.setType(
        FunctionType::get(&getContext(), update.front().getArgumentTypes(), update.getResultTypes()));
  }

  /// Gradients of which ranges arrive are gathered for their updates, which come last; the norm is of ranges, so that it waits for none.
  void gatherArguments(func::FuncOp update) {
    auto updates = llvm::to_vector(update.front().getOps<UpdateOp>());
    for (auto squares : update.front().getOps<SumSquaresOp>()) {
      OpBuilder builder(squares);
      for (OpOperand &gradient : squares->getOpOperands())
        if (isa<FullType>(gradient.get().getType()) && !gatheredInUpdate.contains(getBucketSymbol(gradient.get().getType())))
          gradient.set(ShardOfOp::create(builder, squares.getLoc(), getRangeType(gradient.get().getType()), gradient.get()));
    }
    OpBuilder builder(updates.front());
    for (BlockArgument argument : update.getArguments()) {
      nn::RoleAttr role = getArgumentRole(update, argument.getArgNumber());
      if (!role || role.getKind() != nn::RoleKind::Gradient || !gatheredInUpdate.contains(getBucketSymbol(argument.getType())))
        continue;
      Type whole = argument.getType();
      argument.setType(getRangeType(whole));
      Value gathered = createCollective<AllGatherStartOp>(builder, argument.getLoc(), argument, whole);
      argument.replaceUsesWithIf(gathered, [](OpOperand &use) { return isa<UpdateOp>(use.getOwner()); });
    }
    for (UpdateOp op : updates)
      if (gatheredInUpdate.contains(op.getBucketAttr()) && llvm::all_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
        op->moveBefore(update.front().getTerminator());
    update.setType(FunctionType::get(&getContext(), update.front().getArgumentTypes(), update.getResultTypes()));
  }

  /// The loss, the count, and sums of squares of shards are this rank's until they are summed.
  void sumOverRanks(func::FuncOp update, MeshOp mesh) {
    auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
    auto sum = [&](Value value, Operation *before) {
      OpBuilder builder(before);
      auto total = ControlSumOp::create(builder, value.getLoc(), value.getType(), value, symbol);
      value.replaceAllUsesExcept(total, total);
    };
    for (BlockArgument argument : update.getArguments()) {
      nn::RoleAttr role = getArgumentRole(update, argument.getArgNumber());
      if (!role || argument.use_empty() ||
          (role.getKind() != nn::RoleKind::LossSum && role.getKind() != nn::RoleKind::LabelCount))
        continue;
      Operation *first = *argument.user_begin();
      for (Operation *user : argument.getUsers())
        if (user->isBeforeInBlock(first))
          first = user;
      sum(argument, first);
    }
    for (SumSquaresOp squares : llvm::to_vector(update.front().getOps<SumSquaresOp>()))
      if (isa<ShardType>(squares.getGradients().front().getType()))
        sum(squares, squares->getNextNode());
  }

  bool reduceAtStep = false, reduceInUpdate = false;
  Type elementOfWire;                                // null: the parameters'
  llvm::DenseMap<Attribute, Type> gradientElements; // of the reduced gradients, by bucket
  llvm::SetVector<Attribute> gatheredInUpdate;       // buckets whose gradients are
  std::optional<SymbolTable> buckets;
  int64_t meshSize = 1;
};

} // namespace
} // namespace zero
