//===- VerifySchedule.cpp - zero-verify-schedule --------------------------===//
//
// Checks what phase `schedule` promises, and changes nothing:
//
//   %f = zero.all_gather_start %s  %b = zero.wait %f  %w = zero.view %b["w"]
//   zero.release %b
//   %y = nn.matmul %x, %w    // error: reads bucket @b0 after its release
// Test: test/Transforms/Zero/verify-schedule.mlir, verify-schedule-states.mlir
//
//===----------------------------------------------------------------------===//
#include "Gathers.h"
#include "ParameterChains.h"
#include "StateFlow.h"
#include "StepFunctions.h"
#include "zero/Analysis/GradientPaths.h"
#include "zero/Analysis/RankStates.h"
#include "zero/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace zero::sharding;

namespace zero {
#define GEN_PASS_DEF_ZEROVERIFYSCHEDULE
#include "zero/Transforms/Zero/Passes.h.inc"

namespace {

bool isStart(Operation *op) { return isa<AllGatherStartOp, ReduceScatterStartOp, AllReduceStartOp>(op); }

class ZeroVerifySchedule : public impl::ZeroVerifyScheduleBase<ZeroVerifySchedule> {
public:
  using ZeroVerifyScheduleBase::ZeroVerifyScheduleBase;
  void runOnOperation() override {
    bool ok = true;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation()))
      ok &= succeeded(verifyOps(function)) && succeeded(verifyReleases(function)) &&
            succeeded(verifyStates(function)) && succeeded(verifyRanks(function));
    if (!ok || failed(verifyReductions()) || failed(verifyUpdates()) || failed(verifyStateFlow(getOperation())) || failed(verifyGradients()))
      signalPassFailure();
  }

private:
  LogicalResult verifyOps(func::FuncOp function) {
    for (Operation &op : function.front()) {
      if (isa<UnrealizedConversionCastOp>(op))
        return op.emitOpError() << "is left of " << op.getOperand(0).getType()
                                << "; zero-insert-collectives turns each change of hands into a collective";
      for (Type type : op.getResultTypes())
        if (failed(verifyBucketType(&op, type)))
          return failure();
      if (isStart(&op) && failed(verifyStart(&op)))
        return failure();
      if (auto gather = dyn_cast<AllGatherStartOp>(op); gather && gather.getEarly() && failed(verifyEarly(function, gather)))
        return failure();
      if (auto wait = dyn_cast<WaitOp>(op);
          wait && (!wait.getFuture().getDefiningOp() || !isStart(wait.getFuture().getDefiningOp())))
        return op.emitOpError(
            "waits for what no collective of this function started; zero-insert-collectives makes both");
      if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getNextStep() && failed(verifyNextStep(function, wait)))
        return failure();
    }
    return success();
  }

  /// Nothing of its step comes before an early gather, and the shard is a parameter's state.
  LogicalResult verifyEarly(func::FuncOp function, AllGatherStartOp gather) {
    bool first = mayStartEarly(function) && isa<BlockArgument>(gather.getShard());
    for (Operation *op = gather->getPrevNode(); op && first; op = op->getPrevNode()) {
      auto other = dyn_cast<AllGatherStartOp>(op);
      first = other && other.getEarly();
    }
    if (first)
      return success();
    return gather.emitOpError("is early, but does not stand at the start of @micro, behind an @update that gathers nothing; zero-prefetch-gathers starts early what does");
  }

  /// The next step waits for new parameters alone, and for all of them: their channel runs in order.
  LogicalResult verifyNextStep(func::FuncOp function, WaitOp wait) {
    auto start = wait.getFuture().getDefiningOp<AllGatherStartOp>();
    if (!start || function.getSymName() != "update" || !isNewParameter(function, wait))
      return wait.emitOpError("is left to the next step, but is for no parameter that @update gathers and returns alone; zero-sink-waits leaves only such");
    for (auto other : function.front().getOps<WaitOp>()) {
      if (other.getNextStep() || !other.getFuture().getDefiningOp<AllGatherStartOp>())
        continue;
      InFlightDiagnostic error = other.emitOpError("is for this step, but another gather is left to the next; zero-sink-waits leaves all or none");
      error.attachNote(wait.getLoc()) << "the other is waited for here";
      return error;
    }
    return success();
  }

  /// One type has one spelling.
  LogicalResult verifyBucketType(Operation *op, Type type) {
    if (!getBucketSymbol(type))
      return success();
    BucketOp bucket = getBucket(op, type);
    if (!bucket)
      return op->emitOpError() << "gives " << type << ", but there is no such bucket; zero-assign-buckets makes all";
    auto future = dyn_cast<FutureType>(type);
    Type held = future ? future.getValue() : type, spelled = withElement(bucket, held, getElement(bucket, held));
    if (held == spelled)
      return success();
    return op->emitOpError() << "gives " << held << ", which is " << spelled
                             << "; zero-partition-state says an element only where it is not the bucket's";
  }

  LogicalResult verifyStart(Operation *start) {
    Value future = start->getResult(0);
    if (future.use_empty())
      return start->emitOpError(
          "has no wait; zero-insert-collectives makes one, and zero-insert-release erases what is not used");
    for (Operation *user : future.getUsers())
      if (!isa<WaitOp>(user))
        return user->emitOpError()
               << "takes a future, which only zero.wait may; zero-insert-collectives waits";
    if (!future.hasOneUse()) {
      InFlightDiagnostic error =
          start->emitOpError("has more than one wait; zero-insert-collectives makes one");
      for (Operation *user : future.getUsers())
        error.attachNote(user->getLoc()) << "a wait is here";
      return error;
    }
    return success();
  }

  LogicalResult verifyReleases(func::FuncOp function) {
    SmallVector<Gather> gathers = collectGathers(function);
    llvm::DenseMap<Value, ReleaseOp> releases;
    llvm::DenseSet<Value> gathered;
    for (Gather &gather : gathers)
      gathered.insert(gather.wait.getResult());
    for (auto release : function.front().getOps<ReleaseOp>()) {
      auto [known, inserted] = releases.try_emplace(release.getFull(), release);
      if (!inserted) {
        InFlightDiagnostic error = release.emitOpError(
            "gives a bucket back that was given back before; zero-insert-release does it once");
        error.attachNote(known->second.getLoc()) << "it was released here";
        return error;
      }
      if (!gathered.contains(release.getFull()))
        return release.emitOpError("gives a bucket back that was not gathered; zero-insert-release does not");
    }
    for (Gather &gather : gathers)
      if (failed(verifyRelease(gather, releases.lookup(gather.wait.getResult()))))
        return failure();
    return verifyLive(function, gathers);
  }

  LogicalResult verifyRelease(const Gather &gather, ReleaseOp release) {
    WaitOp wait = gather.wait;
    if (gather.returned) {
      if (release)
        return release.emitOpError()
               << "gives " << gather.describe()
               << " back, but the function returns it or what is computed from "
               << "it alone; zero-insert-release keeps it, zero-insert-collectives clones chains";
      return success();
    }
    if (!release)
      return wait.emitOpError() << "of " << gather.describe()
                                << " has no release; run zero-insert-release last";
    for (Value value : gather.chains) {
      for (Operation *user : value.getUsers()) {
        if (user == release || !release->isBeforeInBlock(user))
          continue;
        InFlightDiagnostic error = user->emitOpError()
                                   << "reads " << gather.describe()
                                   << " after its release; zero-insert-release puts it behind the last use";
        error.attachNote(release.getLoc()) << "it is released here";
        return error;
      }
    }
    return success();
  }

  LogicalResult verifyLive(func::FuncOp function, ArrayRef<Gather> gathers) {
    if (failed(checkLiveLimit(gathers, maxLiveElements)))
      return failure();
    llvm::DenseMap<Operation *, const Gather *> gatherOf; // of its start and its wait
    for (const Gather &gather : gathers)
      gatherOf[gather.start] = gatherOf[gather.wait] = &gather;
    int64_t live = 0, inFlight = 0, started = 0;
    for (Operation &op : function.front()) {
      if (auto release = dyn_cast<ReleaseOp>(op))
        live -= getBucket(release, release.getFull().getType()).getElements();
      const Gather *gather = gatherOf.lookup(&op);
      if (!gather || gather->returned)
        continue;
      if (gather->wait == &op) {
        inFlight -= gather->elements;
        --started;
        continue;
      }
      live += gather->elements;
      inFlight += gather->elements;
      ++started;
      if (live > maxLiveElements)
        return op.emitOpError() << "of " << gather->describe()
                                << " brings the elements of gathered parameters alive to " << live
                                << ", but max-live-elements (stage3_max_live_parameters) is " << int64_t(maxLiveElements)
                                << "; zero-prefetch-gathers keeps gathers back";
      // One alone is always allowed: it is waited for at once.
      if (started > 1 && prefetchElements >= 0 && inFlight > prefetchElements)
        return op.emitOpError() << "of " << gather->describe() << " brings the elements in flight to "
                                << inFlight << ", but prefetch-elements is " << int64_t(prefetchElements)
                                << "; zero-prefetch-gathers keeps gathers back";
    }
    return success();
  }

  /// The same state has one type wherever it is an argument or a result.
  LogicalResult verifyStates(func::FuncOp function) {
    auto check = [&](nn::RoleAttr role, Type type, StringRef what) -> LogicalResult {
      if (!role || !isBucketRole(role.getKind()))
        return success();
      auto [known, inserted] = stateTypes.try_emplace(role, type);
      if (inserted || known->second == type)
        return success();
      return emitError(function.getLoc())
             << nn::stringifyRoleKind(role.getKind()) << " '" << role.getName() << "' is " << type << " as "
             << what << " of @" << function.getSymName() << ", but " << known->second
             << " elsewhere; zero-partition-state gives a state one type";
    };
    for (BlockArgument argument : function.getArguments())
      if (failed(
              check(getArgumentRole(function, argument.getArgNumber()), argument.getType(), "an argument")))
        return failure();
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(check(getResultRole(function, index), type, "a result")))
        return failure();
    return success();
  }

  /// What is a part of a sum, or of one rank alone, goes nowhere as if it were the whole.
  LogicalResult verifyRanks(func::FuncOp function) {
    RankStates states(function);
    for (const RankFault &fault : states.getFaults()) {
      InFlightDiagnostic error = emitError(fault.loc) << fault.message;
      if (fault.other)
        error.attachNote(*fault.other) << fault.note;
    }
    return success(states.getFaults().empty());
  }

  /// Over the whole step: what is packed is reduced, once.
  LogicalResult verifyReductions() {
    llvm::MapVector<Attribute, Operation *> packed, reduced;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      for (Operation &op : function.front()) {
        auto alias = dyn_cast<AliasOp>(op);
        const bool reduces = isa<ReduceScatterStartOp, AllReduceStartOp>(op) ||
                             (alias && isa<PartialType>(alias.getOperand().getType()));
        if (!reduces && !isa<PackOp>(op))
          continue;
        FlatSymbolRefAttr symbol = getBucketSymbol(op.getResult(0).getType());
        auto [known, inserted] = (reduces ? reduced : packed).insert({symbol, &op});
        if (inserted)
          continue;
        InFlightDiagnostic error =
            op.emitOpError() << (reduces ? "reduces" : "packs") << " the gradients of bucket " << symbol
                             << " a second time; "
                             << (reduces ? "zero-insert-collectives reduces" : "zero-partition-state packs")
                             << " them once";
        error.attachNote(known->second->getLoc()) << "the first time is here";
        return error;
      }
    }
    for (auto &[symbol, pack] : packed)
      if (!reduced.contains(symbol))
        return pack->emitOpError() << "has gradients of bucket " << symbol
                                   << " that are never reduced; zero-insert-collectives reduces them";
    return success();
  }

  /// Each bucket is updated once; what @update takes of a step, @micro gives.
  LogicalResult verifyUpdates() {
    llvm::DenseMap<Attribute, UpdateOp> updated;
    llvm::DenseSet<Attribute> given;
    for (func::FuncOp function : getFunctionsOfOneBlock(getOperation())) {
      for (auto update : function.front().getOps<UpdateOp>()) {
        auto [known, inserted] = updated.try_emplace(update.getBucketAttr(), update);
        if (inserted)
          continue;
        InFlightDiagnostic error = update.emitOpError() << "updates bucket " << update.getBucketAttr()
                                                        << " a second time; zero-partition-state updates it once";
        error.attachNote(known->second.getLoc()) << "the first time is here";
        return error;
      }
      for (unsigned index = 0; index < function.getNumResults(); ++index)
        given.insert(getResultRole(function, index));
    }
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro"), update = getOperation().lookupSymbol<func::FuncOp>("update");
    if (!micro || !update)
      return success();
    for (BlockArgument argument : update.getArguments()) {
      nn::RoleAttr role = getArgumentRole(update, argument.getArgNumber());
      if (!role || given.contains(role) ||
          (role.getKind() != nn::RoleKind::Gradient && role.getKind() != nn::RoleKind::LossSum &&
           role.getKind() != nn::RoleKind::LabelCount))
        continue;
      InFlightDiagnostic error = emitError(argument.getLoc())
                                 << "@update takes " << nn::stringifyRoleKind(role.getKind()) << " '" << role.getName()
                                 << "', which @micro does not give; zero-partition-state makes both alike";
      error.attachNote(micro.getLoc()) << "@micro is here";
      return error;
    }
    return updated.empty() ? success() : verifyAllUpdated(micro, update, updated);
  }

  /// What @micro gives gradients of is updated, and @update gives every state of a step for the next.
  LogicalResult verifyAllUpdated(func::FuncOp micro, func::FuncOp update, const llvm::DenseMap<Attribute, UpdateOp> &updated) {
    llvm::DenseSet<Attribute> returned;
    for (unsigned index = 0; index < update.getNumResults(); ++index)
      returned.insert(getResultRole(update, index));
    for (auto [index, type] : llvm::enumerate(micro.getResultTypes())) {
      nn::RoleAttr role = getResultRole(micro, index);
      FlatSymbolRefAttr bucket = getBucketSymbol(type);
      if (!role || role.getKind() != nn::RoleKind::Gradient || !bucket || updated.contains(bucket))
        continue;
      InFlightDiagnostic error = emitError(micro.getLoc()) << "@micro gives gradient '" << role.getName() << "', but @update does not update bucket " << bucket
                                                           << "; zero-partition-state updates all";
      error.attachNote(update.getLoc()) << "@update is here";
      return error;
    }
    for (BlockArgument argument : update.getArguments()) {
      nn::RoleAttr role = getArgumentRole(update, argument.getArgNumber());
      if (!role || !isBucketRole(role.getKind()) || role.getKind() == nn::RoleKind::Gradient || !getBucketSymbol(argument.getType()) || returned.contains(role))
        continue;
      return emitError(argument.getLoc()) << "@update takes " << nn::stringifyRoleKind(role.getKind()) << " '" << role.getName()
                                          << "' and gives none for the next step; zero-partition-state returns each state";
    }
    return success();
  }

  /// Parameters and gradients of one shape are not exchanged.
  LogicalResult verifyGradients() {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    std::optional<GradientFault> fault = micro && micro.getBody().hasOneBlock() ? findForeignGradient(micro) : std::nullopt;
    if (!fault)
      return success();
    InFlightDiagnostic error = emitError(fault->loc) << "@micro " << fault->message
                                                     << "; zero-partition-state packs each gradient in its parameter's slot";
    error.attachNote(fault->other) << fault->note;
    return error;
  }

  llvm::DenseMap<Attribute, Type> stateTypes;
};

} // namespace
} // namespace zero
