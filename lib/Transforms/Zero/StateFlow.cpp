//===- StateFlow.cpp - Which state a value is, and what a scalar is made of ===//
#include "StateFlow.h"
#include "Gathers.h"
#include "StepFunctions.h"
#include "zero/Analysis/OptimizerRoles.h"
#include "zero/Analysis/PlanMemory.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zero::sharding {

namespace {

using nn::RoleKind;

bool addsUp(RoleKind kind) {
  return kind == RoleKind::Gradient || kind == RoleKind::LossSum || kind == RoleKind::LabelCount;
}

std::string describe(nn::RoleAttr role) {
  std::string text = nn::stringifyRoleKind(role.getKind()).str();
  return role.getName().empty() ? text : text + " '" + role.getName().str() + "'";
}

class StateFlow {
public:
  StateFlow(ModuleOp module, func::FuncOp function) : module(module), function(function) {
    for (BlockArgument argument : function.getArguments())
      states[argument] = getArgumentRole(function, argument.getArgNumber());
  }

  LogicalResult verify() {
    for (Operation &op : function.front()) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](AllGatherStartOp gather) { return enter(gather); })
              .Case([&](PackOp pack) {
                states[pack.getResult()] = nn::RoleAttr::get(op.getContext(), RoleKind::Gradient, getSymbol(pack.getType()));
                return success();
              })
              .Case<ReduceScatterStartOp, AllReduceStartOp, WaitOp, AliasOp, ShardOfOp, ConvertOp, ControlSumOp, AccumulateOp>(
                  [&](Operation *same) {
                    states[same->getResult(0)] = get(same->getOperand(0));
                    return success();
                  })
              .Case([&](UpdateOp update) { return enter(update); })
              .Case([&](func::ReturnOp end) { return checkResults(end); })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    return checkNorm();
  }

private:
  nn::RoleAttr get(Value value) const { return states.lookup(value); }
  static StringRef getSymbol(Type type) { return getBucketSymbol(type).getValue(); }

  InFlightDiagnostic fail(Operation *op, const Twine &what, Value from, const Twine &note) {
    InFlightDiagnostic error = op->emitOpError() << what;
    error.attachNote(from.getLoc()) << note;
    return error;
  }

  LogicalResult enter(AllGatherStartOp gather) {
    nn::RoleAttr role = get(gather.getShard());
    states[gather.getFuture()] = role;
    if (!role || role.getKind() == RoleKind::Parameter || isOfGradient(gather))
      return success();
    return fail(gather, "gathers the " + describe(role) + " where parameters are gathered; zero-insert-collectives gathers parameters",
                gather.getShard(), "it comes from here");
  }

  /// The operand of the update that argument `value` of its body stands for; null for any other value.
  static Value getOperandOf(UpdateOp update, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &update.getBody().front())
      return {};
    const unsigned number = argument.getArgNumber(), count = update.getStates().size();
    return number < count ? update.getStates()[number] : update.getScalars()[number - count];
  }

  LogicalResult enter(UpdateOp update) {
    for (Operation &op : update.getBody().front()) {
      std::optional<OptimizerRoles> roles = getOptimizerRoles(&op);
      if (!roles)
        continue;
      for (auto [kind, value] : roles->operands)
        if (Value operand = getOperandOf(update, value); operand && failed(checkOperand(update, operand, kind)))
          return failure();
      for (auto [kind, value] : roles->results)
        for (auto [index, yielded] : llvm::enumerate(update.getBody().front().getTerminator()->getOperands()))
          if (yielded == value)
            states[update.getResult(index)] = nn::RoleAttr::get(update.getContext(), kind, update.getBucket());
      if (Value scale = getOperandOf(update, roles->scale); scale && (failed(checkPrinted(update, scale, "gradient's scale")) || failed(checkScale(update, scale))))
        return failure();
      if (Value skip = roles->skip ? getOperandOf(update, roles->skip) : Value(); skip && failed(checkMade(update, skip, "skip", RoleKind::SkipNonFinite)))
        return failure();
    }
    return success();
  }

  LogicalResult checkOperand(UpdateOp update, Value operand, RoleKind kind) {
    nn::RoleAttr role = get(operand);
    if (role && role.getKind() == kind && (!isBucketRole(kind) || role.getName() == update.getBucket()))
      return success();
    std::string wanted = nn::stringifyRoleKind(kind).str();
    // A learning rate may be computed; a state is nothing but that state.
    if (!role && !isBucketRole(kind))
      return checkMade(update, operand, wanted, kind);
    return fail(update,
                "of bucket @" + update.getBucket() + " takes " + (role ? "the " + describe(role) : std::string("no state")) + " as its " +
                    wanted + "; zero-partition-state gives each state its place",
                operand, "it comes from here");
  }

  /// What is printed as the loss or the norm moves no parameter.
  LogicalResult checkPrinted(UpdateOp update, Value scalar, const Twine &what) {
    for (OpOperand &use : scalar.getUses())
      if (nn::RoleAttr role = isa<func::ReturnOp>(use.getOwner()) ? getResultRole(function, use.getOperandNumber()) : nn::RoleAttr();
          role && (role.getKind() == RoleKind::Loss || role.getKind() == RoleKind::GradNorm))
        return fail(update, "of bucket @" + update.getBucket() + " takes the " + nn::stringifyRoleKind(role.getKind()) + " as its " + what +
                                "; zero-partition-state gives each its place",
                    scalar, "it comes from here");
    return success();
  }

  LogicalResult checkMade(UpdateOp update, Value scalar, const Twine &what, RoleKind of) {
    if (failed(checkPrinted(update, scalar, what)))
      return failure();
    BlockArgument argument = findArgument(function, of, "");
    if (!argument || dependsOn(scalar, [&](Value value) { return value == argument; }))
      return success();
    std::string name = nn::stringifyRoleKind(of).str();
    return fail(update, "of bucket @" + update.getBucket() + " takes as its " + what + " what does not depend on the " + name +
                            "; zero-partition-state gives each its place",
                argument, "the " + name + " is here");
  }

  /// The number of labels of the step is counted while it runs, and what the gradients were multiplied by is known then.
  LogicalResult checkScale(UpdateOp update, Value scale) {
    for (RoleKind kind : {RoleKind::LabelCount, RoleKind::LossScale}) {
      BlockArgument argument = findArgument(function, kind, "");
      if (!argument || dependsOn(scale, [&](Value value) { return value == argument; }))
        continue;
      std::string name = nn::stringifyRoleKind(kind).str();
      return fail(update, "of bucket @" + update.getBucket() + " scales its gradient by what does not depend on the " + name +
                              "; nn-append-optimizer divides by it",
                  argument, "the " + name + " is here");
    }
    return success();
  }

  /// Whether `value` is computed from a value that `found` accepts: through groups by the result that is used.
  bool dependsOn(Value value, llvm::function_ref<bool(Value)> found) const {
    llvm::DenseSet<Value> seen;
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      if (found(next))
        return true;
      if (auto argument = dyn_cast<BlockArgument>(next)) {
        if (auto group = dyn_cast<nn::GroupOp>(argument.getOwner()->getParentOp()))
          work.push_back(group->getOperand(argument.getArgNumber()));
        continue;
      }
      Operation *op = next.getDefiningOp();
      if (auto group = dyn_cast<nn::GroupOp>(op))
        work.push_back(group.getBody().front().getTerminator()->getOperand(cast<OpResult>(next).getResultNumber()));
      else
        llvm::append_range(work, op->getOperands());
    }
    return false;
  }

  LogicalResult checkResults(func::ReturnOp end) {
    for (auto [index, value] : llvm::enumerate(end.getOperands())) {
      nn::RoleAttr role = getResultRole(function, index);
      if (!role)
        continue;
      const nn::RoleAttr given = get(value);
      if (isBucketRole(role.getKind()) && isa<FullType, ShardType, PartialType>(value.getType()) && given && given != role)
        return fail(end, "gives the " + describe(given) + " as the " + describe(role) + "; zero-partition-state returns each state as what it is",
                    value, "it comes from here");
      if (addsUp(role.getKind()) && failed(checkSum(end, value, role)))
        return failure();
      if (role.getKind() == RoleKind::Loss)
        if (BlockArgument sum = findArgument(function, RoleKind::LossSum, "");
            sum && !dependsOn(value, [&](Value from) { return from == sum; }))
          return fail(end, "gives as the loss what does not depend on the loss_sum of the micro-batches; nn-append-optimizer makes it of that",
                      sum, "the loss_sum is here");
      if (nn::isStateScalarRole(role.getKind()))
        if (BlockArgument before = findArgument(function, role.getKind(), role.getName());
            before && !dependsOn(value, [&](Value from) { return from == before; }))
          return fail(end, "gives as the " + describe(role) + " of the next step what does not depend on that of this one; nn-append-optimizer makes it of that",
                      before, "the " + describe(role) + " is here");
      if (role.getKind() == RoleKind::GradNorm)
        if (BlockArgument scale = findArgument(function, RoleKind::LossScale, "");
            scale && !dependsOn(value, [&](Value from) { return from == scale; }))
          return fail(end, "gives as the grad_norm what does not depend on the loss_scale; nn-append-optimizer divides by it", scale,
                      "the loss_scale is here");
      if (role.getKind() == RoleKind::GradNorm && findSquares() &&
          !dependsOn(value, [&](Value from) { return from.getDefiningOp<SumSquaresOp>() != nullptr; }))
        return fail(end, "gives as the grad_norm what does not depend on the sum of squares; zero-partition-state makes it of that",
                    findSquares().getResult(), "the sum of squares is here");
    }
    return success();
  }

  /// With accumulation the function takes what the micro-batches before gave and adds its own to it, once.
  LogicalResult checkSum(func::ReturnOp end, Value value, nn::RoleAttr role) {
    BlockArgument before = findArgument(function, role.getKind(), role.getName());
    if (!before) {
      if (getAccumulationSteps() == 1)
        return success();
      return fail(end, "gives the " + describe(role) + " of one micro-batch alone, but a step has " + Twine(getAccumulationSteps()) +
                           "; zero-insert-collectives adds them up",
                  value, "it comes from here");
    }
    auto add = value.getDefiningOp<AccumulateOp>();
    if (add && add.getAccumulator() == before && before.hasOneUse() && add.getResult().hasOneUse())
      return success();
    return fail(end, "gives as the " + describe(role) + " what is not its accumulator and this micro-batch's, added once; "
                     "zero-insert-collectives adds them up",
                before, "the accumulator is here");
  }

  int64_t getAccumulationSteps() const {
    auto config = module->getAttrOfType<DictionaryAttr>("zero.config");
    auto steps = config ? config.getAs<IntegerAttr>("gradient_accumulation_steps") : IntegerAttr();
    return steps ? steps.getInt() : 1;
  }

  SumSquaresOp findSquares() {
    auto squares = function.front().getOps<SumSquaresOp>();
    return squares.empty() ? SumSquaresOp() : *squares.begin();
  }

  /// Each bucket's gradient is in the norm, once.
  LogicalResult checkNorm() {
    llvm::MapVector<Attribute, SumSquaresOp> counted;
    for (auto squares : function.front().getOps<SumSquaresOp>())
      for (Value gradient : squares.getGradients()) {
        auto [known, inserted] = counted.insert({getBucketSymbol(gradient.getType()), squares});
        if (!inserted)
          return fail(squares, "counts the gradients of bucket @" + getSymbol(gradient.getType()) + " a second time; zero-partition-state counts them once",
                      known->second.getResult(), "the first time is here");
      }
    if (counted.empty())
      return success();
    for (BlockArgument argument : function.getArguments()) {
      nn::RoleAttr role = get(argument);
      if (!role || role.getKind() != RoleKind::Gradient || counted.contains(getBucketSymbol(argument.getType())))
        continue;
      return fail(findSquares(), "leaves the gradients of bucket @" + getSymbol(argument.getType()) + " out; zero-partition-state counts all",
                  argument, "they are here");
    }
    return success();
  }

  ModuleOp module;
  func::FuncOp function;
  llvm::DenseMap<Value, nn::RoleAttr> states; // null: no state
};

} // namespace

LogicalResult verifyStateFlow(ModuleOp module) {
  auto config = module->getAttrOfType<DictionaryAttr>("zero.config");
  auto ranks = config ? config.getAs<IntegerAttr>("world_size") : IntegerAttr();
  for (auto mesh : module.getOps<MeshOp>())
    if (ranks && ranks.getInt() != static_cast<int64_t>(mesh.getSize()))
      return mesh.emitOpError() << "has " << mesh.getSize() << " ranks, but the module was partitioned for world_size " << ranks.getInt();
  for (func::FuncOp function : getFunctionsOfOneBlock(module))
    if (failed(StateFlow(module, function).verify()))
      return failure();
  return success();
}

} // namespace zero::sharding
