//===- RankStates.cpp - How a value on one rank relates to the others' ----===//
#include "zero/Analysis/RankStates.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/OptimizerRoles.h"
#include "zero/Analysis/PlanMemory.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zero::sharding;
using zero::nn::RoleKind;

namespace zero {

static bool isGradient(nn::RoleAttr role) { return role && role.getKind() == RoleKind::Gradient; }

/// What an argument is when the function starts.
static RankState getArgumentState(BlockArgument argument, nn::RoleAttr role) {
  RankState state;
  state.relationFrom = argument;
  TypeSwitch<Type>(argument.getType())
      .Case<ShardType>([&](auto) { state.relation = RankRelation::Sharded; })
      .Case<PartialType>([&](auto) { state.relation = RankRelation::Partial; })
      .Case<FullType>([&](auto) { state.relation = RankRelation::Replicated; })
      .Default([&](Type) {
        if (!role || role.getKind() == RoleKind::Input || role.getKind() == RoleKind::Label)
          state.relation = RankRelation::PerRank;
        else if (role.getKind() == RoleKind::LossSum || role.getKind() == RoleKind::LabelCount)
          state.relation = RankRelation::Partial;
      });
  if (isGradient(role) && state.relation != RankRelation::Partial) {
    state.reduced = true;
    state.reducedFrom = argument;
  }
  return state;
}

/// Whether f(part 0) + .. + f(part N - 1) is f of the sum, where the other operands are replicated.
static bool isLinear(Operation *op, llvm::function_ref<RankRelation(Value)> relation) {
  auto is = [&](Value value, RankRelation expected) { return relation(value) == expected; };
  return TypeSwitch<Operation *, bool>(op)
      .Case<nn::NegOp, nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::BroadcastOp>([](Operation *) { return true; })
      .Case<nn::AddOp, nn::SubOp, nn::ConcatOp>([&](Operation *sum) {
        return llvm::all_of(sum->getOperands(), [&](Value value) { return is(value, RankRelation::Partial); });
      })
      .Case([&](nn::ReduceOp reduce) { return reduce.getKind() == nn::ReduceKind::sum; })
      .Case([&](nn::MulOp product) {
        return is(product.getLhs(), RankRelation::Replicated) || is(product.getRhs(), RankRelation::Replicated);
      })
      .Case([&](nn::DivOp quotient) { return is(quotient.getRhs(), RankRelation::Replicated); })
      .Default([](Operation *) { return false; });
}

RankStates::RankStates(func::FuncOp function) : function(function) {
  const bool alone = getWorldSize(function->getParentOfType<ModuleOp>()) == 1;
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName);
    states[argument] = alone ? RankState() : getArgumentState(argument, role);
  }
  for (Operation &op : function.front())
    if (alone)
      setResults(&op, RankState());
    else
      enter(&op);
}

void RankStates::setResults(Operation *op, RankState state) {
  for (Value result : op->getResults())
    states[result] = state;
}

void RankStates::fault(Operation *op, std::string message, Value other, std::string note) {
  std::optional<Location> place;
  if (other)
    place = other.getLoc();
  faults.push_back({op->getLoc(), "'" + op->getName().getStringRef().str() + "' op " + std::move(message), place, std::move(note)});
}

/// The widest relation of the operands (all equal, else what the data give), and whether any holds a sum.
RankState RankStates::join(OperandRange operands) const {
  RankState state;
  for (Value operand : operands) {
    const RankState &of = get(operand);
    RankRelation relation = of.relation == RankRelation::Sharded ? RankRelation::PerRank : of.relation;
    if (relation > state.relation) {
      state.relation = relation;
      state.relationFrom = of.relationFrom;
    }
    if (of.reduced && !state.reduced) {
      state.reduced = true;
      state.reducedFrom = of.reducedFrom;
    }
  }
  return state;
}

void RankStates::enter(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case<AllGatherStartOp>([&](auto gather) {
        RankState state = get(gather.getShard());
        state.relation = RankRelation::Replicated;
        state.relationFrom = gather.getFuture();
        setResults(op, state);
      })
      .Case<ReduceScatterStartOp, AllReduceStartOp>([&](auto) {
        Value sum = op->getResult(0);
        setResults(op, {isa<AllReduceStartOp>(op) ? RankRelation::Replicated : RankRelation::Sharded, true, false, sum, sum});
      })
      .Case<WaitOp, ViewOp, AliasOp, ConvertOp>([&](auto) { setResults(op, get(op->getOperand(0))); })
      .Case([&](ShardOfOp range) {
        RankState state = get(range.getFull());
        state.relation = RankRelation::Sharded;
        state.relationFrom = range.getShard();
        setResults(op, state);
      })
      .Case([&](PackOp pack) {
        for (auto [gradient, slot] : llvm::zip(pack.getGradients(), getBucket(pack, pack.getType()).getSlots()))
          requireContribution(op, gradient, ("the gradient of '" + cast<SlotAttr>(slot).getName() + "'").str());
        setResults(op, {RankRelation::Partial, false, false, pack.getResult(), {}});
      })
      .Case([&](AccumulateOp add) {
        const RankState &before = get(add.getAccumulator()), &value = get(add.getValue());
        if (before.relation == RankRelation::Partial)
          requireContribution(op, add.getValue(), "a value");
        else if (before.reduced && !value.reduced)
          fault(op, "adds a value that is not summed over the ranks to a sum over them; zero-insert-collectives reduces it first",
                value.relationFrom, "the value comes from here");
        setResults(op, before);
      })
      .Case([&](SumSquaresOp squares) {
        for (Value gradient : squares.getGradients())
          requireReduced(op, gradient, "counts");
        const bool shards = isa<ShardType>(squares.getGradients().front().getType());
        Value sum = squares.getResult();
        setResults(op, {shards ? RankRelation::Partial : RankRelation::Replicated, !shards, false, sum, shards ? Value() : sum});
      })
      .Case([&](ControlSumOp sum) {
        const RankState &part = get(sum.getOperand());
        if (part.relation == RankRelation::Replicated || part.reduced)
          fault(op, "sums over the ranks what is the same on all of them: it would count " +
                        std::to_string(getWorldSize(function->getParentOfType<ModuleOp>())) +
                        " times; zero-insert-collectives sums parts, once",
                part.reduced ? part.reducedFrom : part.relationFrom,
                part.reduced ? "it is a sum over the ranks since here" : "it is the same on all ranks since here");
        setResults(op, {RankRelation::Replicated, true, false, sum.getResult(), sum.getResult()});
      })
      .Case([&](UpdateOp update) {
        requireReduced(op, update.getStates()[1], "applies");
        for (auto [index, scalar] : llvm::enumerate(update.getScalars())) {
          const RankState &state = get(scalar);
          if (state.relation != RankRelation::Replicated)
            fault(op, "takes scalar #" + std::to_string(index) + ", which is " +
                          (state.relation == RankRelation::Partial ? "this rank's part of a sum over the ranks"
                                                                   : "not the same on all ranks") +
                          "; zero-insert-collectives sums over the ranks first",
                  state.relationFrom, "it comes from here");
        }
        for (Value result : update.getResults())
          states[result] = {isa<ShardType>(result.getType()) ? RankRelation::Sharded : RankRelation::Replicated, false,
                            true, result, {}};
      })
      .Case([&](func::ReturnOp end) { checkResults(end); })
      .Default([&](Operation *) { enterCompute(op); });
}

/// Whether a rank's own part times (or divided by) a sum over the ranks is a part still: its sum counts nothing twice.
static bool isScaledPart(Operation *op, const RankState &state, llvm::function_ref<const RankState &(Value)> get) {
  if (state.relation == RankRelation::Partial)
    return true;
  return isa<nn::MulOp, nn::DivOp, nn::MatmulOp>(op) && llvm::any_of(op->getOperands(), [&](Value value) {
           const RankState &of = get(value);
           return of.relation == RankRelation::PerRank && !of.reduced;
         });
}

/// Any other op gives what its operands are, and takes parts of a sum where it is linear in them.
void RankStates::enterCompute(Operation *op) {
  RankState state = join(op->getOperands());
  if (isa<nn::GroupOp>(op) && (state.relation == RankRelation::Partial || state.reduced))
    return enterGroup(op);
  if (std::optional<OptimizerRoles> roles = getOptimizerRoles(op))
    for (auto [kind, value] : roles->operands)
      if (kind == RoleKind::Gradient)
        requireReduced(op, value, "applies");
  if (state.reduced && isScaledPart(op, state, [&](Value value) -> const RankState & { return get(value); }))
    state.reduced = false, state.reducedFrom = {};
  if (state.relation == RankRelation::Partial) {
    if (!isLinear(op, [&](Value value) { return get(value).relation; })) {
      fault(op, "takes this rank's part of a sum over the ranks, of which it gives no part of a sum; zero-insert-collectives "
                "sums it first",
            state.relationFrom, "the part comes from here");
      state = {RankRelation::Replicated, true, false, state.relationFrom, state.relationFrom}; // as if it were summed: said once
    }
  } else if (!state.relationFrom && op->getNumResults()) {
    state.relationFrom = op->getResult(0);
  }
  setResults(op, state);
}

void RankStates::enterGroup(Operation *group) {
  Block &body = cast<nn::GroupOp>(group).getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), group->getOperands())) {
    RankState state = get(operand); // a copy: the map grows
    states[argument] = state;
  }
  for (Operation &op : body.without_terminator())
    enterCompute(&op);
  for (auto [result, value] : llvm::zip_equal(group->getResults(), body.getTerminator()->getOperands())) {
    RankState state = get(value);
    states[result] = state;
  }
}

void RankStates::requireReduced(Operation *op, Value gradient, StringRef what) {
  const RankState &state = get(gradient);
  if (!state.reduced)
    fault(op, (what + " a gradient that is no sum over the ranks; zero-insert-collectives reduces gradients first").str(),
          state.relationFrom, "it comes from here");
}

void RankStates::requireContribution(Operation *op, Value value, StringRef what) {
  const RankState &state = get(value);
  if (state.reduced)
    fault(op, ("takes " + what + " as this rank's part of a sum, but it is summed over the ranks already; "
               "zero-insert-collectives reduces once").str(),
          state.reducedFrom, "it is a sum over the ranks since here");
}

/// The state that `value` is the new value of, through what moves it alone; null where no argument is known.
static nn::RoleAttr getStateBefore(func::FuncOp function, Value value) {
  auto skipMoves = [](Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<WaitOp, AllGatherStartOp, ShardOfOp, AliasOp>(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  };
  auto result = dyn_cast<OpResult>(skipMoves(value));
  auto update = result ? dyn_cast<UpdateOp>(result.getOwner()) : UpdateOp();
  if (!update)
    return {};
  auto argument = dyn_cast<BlockArgument>(skipMoves(update.getStates()[getUpdatedState(result.getResultNumber())]));
  return argument ? function.getArgAttrOfType<nn::RoleAttr>(argument.getArgNumber(), nn::kRoleAttrName) : nn::RoleAttr();
}

void RankStates::checkResults(Operation *end) {
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    auto role = function.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
    if (!role)
      continue;
    const RankState &state = get(value);
    std::string name = nn::stringifyRoleKind(role.getKind()).str();
    if (!role.getName().empty())
      name += " '" + role.getName().str() + "'";
    switch (role.getKind()) {
    case RoleKind::Loss:
    case RoleKind::GradNorm:
    case RoleKind::Skipped:
    case RoleKind::LossScale:
    case RoleKind::ScaleWindowSteps:
    case RoleKind::ScaleHysteresis:
      if (state.relation != RankRelation::Replicated)
        fault(end, "gives " +
                       std::string(state.relation == RankRelation::Partial ? "this rank's part of a sum over the ranks"
                                                                           : "a value of this rank alone") +
                       " as the " + name + " of all ranks; zero-insert-collectives sums over the ranks",
              state.relationFrom, "it comes from here");
      break;
    case RoleKind::LossSum:
    case RoleKind::LabelCount:
      requireContribution(end, value, "the " + name);
      break;
    case RoleKind::Gradient:
      if (!isa<PartialType>(value.getType()) && !state.reduced)
        fault(end, "gives a value as the " + name + " that is no sum over the ranks; zero-insert-collectives reduces gradients",
              state.relationFrom, "it comes from here");
      break;
    case RoleKind::Parameter:
    case RoleKind::Master:
    case RoleKind::ExpAvg:
    case RoleKind::ExpAvgSq:
    case RoleKind::Momentum:
      if (isa<RankedTensorType>(value.getType())) {
        if (state.relation != RankRelation::Replicated)
          fault(end, "gives the " + name + " of the next step, which is not the same on all ranks; zero-insert-collectives reduces gradients first",
                state.relationFrom, "it comes from here");
      } else if (!state.updated)
        fault(end, "gives the " + name + " of the next step, but no zero.update of this one gave it; zero-partition-state returns what "
                   "an update gives",
              value, "it comes from here");
      else if (nn::RoleAttr of = getStateBefore(function, value); of && of != role)
        fault(end, "gives the new " + nn::stringifyRoleKind(of.getKind()).str() + " '" + of.getName().str() + "' as the " + name +
                       "; zero-partition-state returns each state as itself",
              value, "it comes from here");
      break;
    default:
      break;
    }
  }
}

} // namespace zero
