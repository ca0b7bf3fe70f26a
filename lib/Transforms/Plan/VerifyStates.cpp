//===- VerifyStates.cpp - The part of plan-verify about which state is which ===//
#include "VerifyStates.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/OptimizerRoles.h"
#include "zero/Analysis/PlanMemory.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace zero {
namespace {

using nn::RoleKind;

bool isStateRole(StringRef name) {
  std::optional<RoleKind> role = nn::symbolizeRoleKind(name);
  return role && (nn::isStateScalarRole(*role) ||
                  llvm::is_contained({RoleKind::Parameter, RoleKind::Frozen, RoleKind::Gradient, RoleKind::Master, RoleKind::ExpAvg,
                                      RoleKind::ExpAvgSq, RoleKind::Momentum},
                                     *role));
}

bool isFrozen(plan::StateOp state) { return state.getRole() == "frozen"; }

std::string describe(plan::StateOp state) {
  return state.getName().empty() ? state.getRole().str() : state.getRole().str() + " '" + state.getName().str() + "'";
}

/// Slices of one buffer and the commands that write them.
using WrittenSlices = SmallVector<std::pair<plan::SliceAttr, Operation *>>;

class StatesVerifier {
public:
  explicit StatesVerifier(ModuleOp module) : module(module), symbols(module), worldSize(getWorldSize(module)) {}

  LogicalResult run() {
    if (failed(checkNames()))
      return failure();
    collectTyped();
    for (auto section : module.getOps<plan::SectionOp>()) {
      if (failed(checkCollectives(section)) || failed(checkElements(section)))
        return failure();
      if (section.getSymName() == "update" && (failed(checkUpdates(section)) || failed(checkNorm(section))))
        return failure();
    }
    return checkAdded();
  }

private:
  InFlightDiagnostic fail(Operation *op, const Twine &what, Operation *other, const Twine &note) {
    InFlightDiagnostic error = op->emitError() << what;
    error.attachNote(other->getLoc()) << note;
    return error;
  }

  plan::StateOp findState(plan::SliceAttr slice) const { return stateOf.lookup(slice.getBuffer()); }
  static SmallVector<plan::SliceAttr> getReads(plan::DispatchOp dispatch) {
    return llvm::to_vector(dispatch.getReads().getAsRange<plan::SliceAttr>());
  }

  //===--------------------------------------------------------------------===//
  // Records
  //===--------------------------------------------------------------------===//

  LogicalResult checkOnce(Operation *op, const Twine &name) {
    auto [known, inserted] = named.try_emplace(name.str(), op);
    if (inserted)
      return success();
    return fail(op, name + " is there a second time; zero-to-plan makes one", known->second, "the first is here");
  }

  LogicalResult checkNames() {
    for (Operation &op : *module.getBody()) {
      if (auto state = dyn_cast<plan::StateOp>(op)) {
        if (!isStateRole(state.getRole()))
          return state.emitError() << "state '" << state.getName() << "' has role '" << state.getRole()
                                   << "', which is none of parameter, frozen, gradient, master, exp_avg, exp_avg_sq, momentum, loss_scale, "
                                      "scale_window_steps, scale_hysteresis";
        if (failed(checkOnce(state, describe(state))))
          return failure();
        if (isFrozen(state))
          continue;
        auto [known, inserted] = stateOf.try_emplace(state.getSlice().getBuffer(), state);
        if (!inserted)
          return fail(state, describe(state) + " is in buffer @" + state.getSlice().getBuffer().getValue() + " of another state; zero-to-plan gives each its own",
                      known->second, "the other state is here");
      }
      if (auto input = dyn_cast<plan::InputOp>(op); input && failed(checkOnce(input, "input '" + input.getName() + "'")))
        return failure();
      if (auto scalar = dyn_cast<plan::StepScalarOp>(op)) {
        if (failed(checkOnce(scalar, "step scalar '" + scalar.getKind() + "'")))
          return failure();
        if (!scalar.getValue().isFinite())
          return scalar.emitError() << "step scalar '" << scalar.getKind() << "' is not finite";
        scalarOf[scalar.getSlice().getBuffer()] = scalar;
      }
      if (auto result = dyn_cast<plan::StepResultOp>(op)) {
        if (failed(checkOnce(result, "step result '" + result.getKind() + "'")))
          return failure();
        auto [known, inserted] = resultOf.try_emplace(result.getSlice(), result);
        if (!inserted)
          return fail(result, "step result '" + result.getKind() + "' is read from where '" + known->second.getKind() + "' is; zero-to-plan gives each its own place",
                      known->second, "the other is here");
      }
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  /// A collective that touches a state touches that of its label: a gather a parameter (or what was just reduced in place),
  /// a reduction a gradient. What it leaves in another buffer goes to no other bucket's gradient.
  LogicalResult checkCollectives(plan::SectionOp section) {
    DenseMap<Attribute, plan::CollectiveOp> reducedIn;
    DenseMap<Attribute, plan::DispatchOp> madeBy; // by slice: the last kernel that wrote it
    for (Operation &op : section.getBody().front()) {
      if (auto dispatch = dyn_cast<plan::DispatchOp>(op)) {
        for (auto write : dispatch.getWrites().getAsRange<plan::SliceAttr>())
          madeBy[write] = dispatch;
        for (auto write : dispatch.getWrites().getAsRange<plan::SliceAttr>())
          for (plan::SliceAttr read : getReads(dispatch)) {
            plan::StateOp state = findState(write);
            plan::CollectiveOp from = reducedIn.lookup(read.getBuffer());
            if (state && from && state.getRole() == "gradient" && state.getName() != from.getLabel())
              return fail(dispatch, "gives " + describe(state) + " the sum of bucket '" + from.getLabel() + "'; zero-to-plan gives each bucket its own",
                          from, "it is reduced here");
          }
        continue;
      }
      auto collective = dyn_cast<plan::CollectiveOp>(op);
      if (!collective)
        continue;
      if (collective.getKind() == plan::CollectiveKind::control_sum && failed(checkControlSum(collective, madeBy.lookup(collective.getSource()))))
        return failure();
      const bool gather = collective.getKind() == plan::CollectiveKind::all_gather;
      const bool inPlace = collective.getSource().getBuffer() == collective.getTarget().getBuffer();
      for (plan::SliceAttr slice : {collective.getSource(), collective.getTarget()}) {
        plan::StateOp state = findState(slice);
        if (!state)
          continue;
        const bool parameter = state.getRole() == "parameter", gradient = state.getRole() == "gradient";
        if (state.getName() != collective.getLabel())
          return fail(collective, "of bucket '" + collective.getLabel() + "' moves the " + describe(state) + "; zero-to-plan moves the bucket's own", state,
                      "the state is here");
        if (gather ? !parameter && !(gradient && inPlace) : !gradient)
          return fail(collective, (gather ? "gathers the " : "reduces the ") + describe(state) + "; zero-insert-collectives gathers parameters and reduces gradients",
                      state, "the state is here");
      }
      if (collective.getKind() == plan::CollectiveKind::reduce_scatter)
        reducedIn[collective.getTarget().getBuffer()] = collective;
    }
    return success();
  }

  /// A control sum is called what it is of: the step result that it makes whole, or the kernel that made its part. So are its elements.
  LogicalResult checkControlSum(plan::CollectiveOp sum, plan::DispatchOp madeBy) {
    if (plan::StepResultOp result = resultOf.lookup(sum.getSource())) {
      if (sum.getLabel() != result.getKind())
        return fail(sum, "sums '" + sum.getLabel() + "' over the ranks where the " + result.getKind() + " is; zero-to-plan calls it so", result, "the step result is here");
      return checkSummed(sum, result.getElement(), result, "the step result is here");
    }
    if (!madeBy)
      return success();
    // Generated kernels are numbered: "group_3" is of a group.
    StringRef kernel = madeBy.getKernel();
    if (kernel != sum.getLabel() && !(symbols.lookup<plan::KernelOp>(kernel) && kernel.rsplit('_').first == sum.getLabel()))
      return fail(sum, "sums '" + sum.getLabel() + "' over the ranks, which is what kernel '" + kernel + "' made; zero-to-plan calls it so", madeBy, "it is made here");
    Type element = kernel == "sum_squares" ? IntegerType::get(module.getContext(), 64) : Type();
    if (func::FuncOp body = findBody(madeBy))
      for (auto [slice, type] : llvm::zip(madeBy.getWrites().getAsRange<plan::SliceAttr>(), body.getResultTypes()))
        if (slice == sum.getSource())
          element = cast<RankedTensorType>(type).getElementType();
    return element ? checkSummed(sum, element, madeBy, "it is made here") : success();
  }

  LogicalResult checkSummed(plan::CollectiveOp sum, Type element, Operation *other, const Twine &note) {
    if (sum.getElement() == element)
      return success();
    return fail(sum, "sums '" + sum.getLabel() + "' over the ranks as elements of " + print(sum.getElement()) + ", but they are " + print(element) +
                         "; zero-to-plan gives each its own type",
                other, note);
  }

  func::FuncOp findBody(plan::DispatchOp dispatch) const {
    auto kernel = symbols.lookup<plan::KernelOp>(dispatch.getKernel());
    return kernel ? symbols.lookup<func::FuncOp>(kernel.getBodyFunction()) : func::FuncOp();
  }

  /// What the runtime fills, writes and reads, and states: a description, the element and the record; no record where a slice is none of these.
  struct TypedPlace {
    std::string what;
    Type element;
    Operation *op = nullptr;
  };

  TypedPlace findTyped(plan::SliceAttr slice) {
    if (plan::StateOp state = findState(slice))
      return {describe(state), getElement(state), state};
    return typedPlaces.lookup(slice);
  }

  void collectTyped() {
    auto elementOf = [](Type type) { return isa<RankedTensorType>(type) ? cast<RankedTensorType>(type).getElementType() : type; };
    for (auto input : module.getOps<plan::InputOp>())
      typedPlaces[input.getSlice()] = {"input '" + input.getName().str() + "'", elementOf(input.getType()), input};
    for (auto output : module.getOps<plan::OutputOp>())
      typedPlaces[output.getSlice()] = {"output '" + output.getName().str() + "'", elementOf(output.getType()), output};
    for (auto scalar : module.getOps<plan::StepScalarOp>())
      typedPlaces[scalar.getSlice()] = {"step scalar '" + scalar.getKind().str() + "'", Float32Type::get(module.getContext()), scalar};
    for (auto result : module.getOps<plan::StepResultOp>())
      typedPlaces[result.getSlice()] = {"step result '" + result.getKind().str() + "'", result.getElement(), result};
  }

  /// Generated kernels take bytes for what they are.
  LogicalResult checkElements(plan::SectionOp section) {
    for (auto dispatch : section.getBody().front().getOps<plan::DispatchOp>()) {
      func::FuncOp body = findBody(dispatch);
      if (!body)
        continue;
      for (auto [verb, slices, types] : {std::tuple("reads", dispatch.getReads(), body.getFunctionType().getInputs()),
                                         std::tuple("writes", dispatch.getWrites(), body.getFunctionType().getResults())})
        for (auto [slice, type] : llvm::zip(slices.getAsRange<plan::SliceAttr>(), types)) {
          TypedPlace place = findTyped(slice);
          Type given = cast<RankedTensorType>(type).getElementType();
          if (place.element && place.element != given)
            return fail(dispatch, Twine(verb) + " the " + place.what + " as elements of " + print(given) + ", but it has " + print(place.element) +
                                      "; zero-to-plan gives each one type",
                        place.op, "it is here");
        }
    }
    return success();
  }

  /// The kernel of each update gets one bucket's states, each where its optimizer expects it, and every bucket gets one.
  LogicalResult checkUpdates(plan::SectionOp section) {
    llvm::StringMap<Operation *> updated;
    sumIn.clear();
    for (auto collective : section.getBody().front().getOps<plan::CollectiveOp>()) {
      FlatSymbolRefAttr target = collective.getTarget().getBuffer();
      if (collective.getKind() == plan::CollectiveKind::reduce_scatter && !symbols.lookup<plan::BufferOp>(target.getAttr()).getState())
        sumIn[target] = collective;
    }
    for (auto dispatch : section.getBody().front().getOps<plan::DispatchOp>()) {
      func::FuncOp body = findBody(dispatch);
      if (!body || body.empty())
        continue;
      for (Operation &op : body.front()) {
        std::optional<OptimizerRoles> roles = getOptimizerRoles(&op);
        if (roles && failed(checkUpdate(dispatch, body, *roles, updated)))
          return failure();
      }
    }
    return success();
  }

  LogicalResult checkUpdate(plan::DispatchOp dispatch, func::FuncOp body, const OptimizerRoles &roles, llvm::StringMap<Operation *> &updated) {
    plan::StateOp parameter;
    DenseMap<int, plan::SliceAttr> places; // of states, by role
    for (auto [kind, value] : roles.operands) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || argument.getOwner() != &body.front())
        continue;
      plan::SliceAttr slice = getReads(dispatch)[argument.getArgNumber()];
      StringRef wanted = nn::stringifyRoleKind(kind);
      if (kind == RoleKind::LearningRate || kind == RoleKind::BiasCorrection1 || kind == RoleKind::BiasCorrection2) {
        plan::StepScalarOp scalar = scalarOf.lookup(slice.getBuffer());
        if (scalar && scalar.getKind() != wanted)
          return fail(dispatch, "takes step scalar '" + scalar.getKind() + "' as its " + wanted + "; zero-to-plan gives each its place", scalar, "it is here");
        continue;
      }
      plan::StateOp state = findState(slice);
      // A sum of another type than was sent lies beside the gradient's state.
      if (plan::CollectiveOp sum = sumIn.lookup(slice.getBuffer()); kind == RoleKind::Gradient && sum) {
        if (!named.contains("gradient '" + sum.getLabel().str() + "'"))
          return fail(dispatch, "takes the sum of bucket '" + sum.getLabel() + "' as its gradient, which is no state of the plan; zero-to-plan makes one", sum,
                      "it is reduced here");
        if (parameter && sum.getLabel() != parameter.getName())
          return fail(dispatch, "updates " + describe(parameter) + " with the sum of bucket '" + sum.getLabel() + "'; zero-to-plan gives each bucket its own", sum,
                      "it is reduced here");
        continue;
      }
      if (!state || state.getRole() != wanted) {
        std::string other = state ? describe(state) : "@" + slice.getBuffer().getValue().str();
        auto error = dispatch.emitError() << "takes " << other << " as the " << wanted << " of its update; zero-to-plan gives each state its place";
        error.attachNote(state ? state.getLoc() : symbols.lookup(slice.getBuffer().getAttr())->getLoc()) << "it is here";
        return error;
      }
      if (!parameter)
        parameter = state;
      if (state.getName() != parameter.getName())
        return fail(dispatch, "updates " + describe(parameter) + " with the " + describe(state) + "; zero-to-plan gives each bucket its own", state, "it is here");
      places[static_cast<int>(kind)] = slice;
    }
    if (!parameter)
      return success();
    if (auto scale = dyn_cast<BlockArgument>(roles.scale); scale && scale.getOwner() == &body.front())
      if (plan::StepScalarOp scalar = scalarOf.lookup(getReads(dispatch)[scale.getArgNumber()].getBuffer()))
        return fail(dispatch, "takes step scalar '" + scalar.getKind() + "' as the scale of its gradient; zero-to-plan gives each its place", scalar,
                    "it is here");
    auto writes = llvm::to_vector(dispatch.getWrites().getAsRange<plan::SliceAttr>());
    for (auto [kind, value] : roles.results)
      for (auto [index, result] : llvm::enumerate(body.front().getTerminator()->getOperands()))
        if (result == value && places.contains(static_cast<int>(kind)) && writes[index] != places[static_cast<int>(kind)])
          return fail(dispatch, "writes the new " + nn::stringifyRoleKind(kind) + " of '" + parameter.getName() + "' to @" + writes[index].getBuffer().getValue() +
                                    ", not to where it was read; zero-to-plan updates in place",
                      parameter, "the parameter is here");
    auto [known, inserted] = updated.try_emplace(parameter.getName(), dispatch);
    if (!inserted)
      return fail(dispatch, "updates " + describe(parameter) + " a second time; zero-partition-state updates it once", known->second, "the first time is here");
    return success();
  }

  static std::string print(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  /// Null where its bucket is not known.
  Type getElement(plan::StateOp state) const {
    if (std::optional<Type> element = state.getElement())
      return *element;
    auto bucket = symbols.lookup<sharding::BucketOp>(state.getName());
    return bucket ? bucket.getElement() : Type();
  }

  /// This rank's equal share of a slice that all ranks have whole.
  plan::SliceAttr getOwnRange(plan::SliceAttr slice) {
    const int64_t share = slice.getSize() / worldSize;
    return slice.getRankStride() == 0 ? plan::SliceAttr::get(module.getContext(), slice.getBuffer(), slice.getOffset(), share, share) : slice;
  }

  LogicalResult checkNorm(plan::SectionOp section) {
    DenseMap<Attribute, Operation *> counted;
    Operation *norm = nullptr;
    for (auto dispatch : section.getBody().front().getOps<plan::DispatchOp>()) {
      if (dispatch.getKernel() != "sum_squares")
        continue;
      norm = dispatch;
      for (plan::SliceAttr slice : getReads(dispatch)) {
        auto [known, inserted] = counted.try_emplace(slice.getBuffer(), dispatch);
        if (!inserted)
          return fail(dispatch, "counts @" + slice.getBuffer().getValue() + " a second time; zero-partition-state counts each gradient once", known->second,
                      "the first time is here");
        plan::CollectiveOp sum = sumIn.lookup(slice.getBuffer());
        plan::StateOp state = sum ? plan::StateOp() : findState(slice);
        if (!sum && !state)
          continue;
        plan::SliceAttr all = sum ? sum.getTarget() : state.getSlice();
        // Ranks count their own ranges, or the whole that was gathered in place.
        if (slice != all && slice != getOwnRange(all) && getOwnRange(slice) != all)
          return fail(dispatch, "counts " + Twine(slice.getSize()) + " of " + Twine(all.getSize()) + " bytes of @" + slice.getBuffer().getValue() +
                                    "; zero-partition-state counts all of each gradient",
                      sum ? sum.getOperation() : state.getOperation(), sum ? "it is reduced here" : "it is here");
      }
    }
    llvm::StringSet<> sums; // buckets whose sum beside the state is counted
    for (auto &[buffer, sum] : sumIn)
      if (counted.contains(buffer))
        sums.insert(plan::CollectiveOp(sum).getLabel());
    for (auto state : module.getOps<plan::StateOp>())
      if (norm && state.getRole() == "gradient" && !counted.contains(state.getSlice().getBuffer()) && !sums.contains(state.getName()))
        return fail(norm, "leaves the " + describe(state) + " out; zero-partition-state counts all", state, "it is here");
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Micro-batches
  //===--------------------------------------------------------------------===//

  /// The slices of buffers that live from section to section which a section's commands write, but padding.
  llvm::MapVector<Attribute, WrittenSlices> collectWrites(plan::SectionOp section) {
    llvm::MapVector<Attribute, WrittenSlices> writes;
    SmallVector<plan::SliceAttr> read, written;
    for (Operation &op : section.getBody().front()) {
      read.clear();
      written.clear();
      getSlices(&op, read, written);
      for (plan::SliceAttr slice : written)
        if (auto buffer = symbols.lookup<plan::BufferOp>(slice.getBuffer().getAttr()); buffer.getState() && !isa<plan::ZeroOp>(op) && slice.getSize() != 0)
          writes[slice.getBuffer()].push_back({slice, &op});
    }
    return writes;
  }

  bool isReadBy(plan::SectionOp section, Attribute buffer) {
    SmallVector<plan::SliceAttr> reads, writes;
    for (Operation &op : section.getBody().front())
      getSlices(&op, reads, writes);
    return llvm::any_of(reads, [&](plan::SliceAttr slice) { return slice.getBuffer() == buffer; });
  }

  /// Where the slices of all ranks end.
  int64_t getEnd(plan::SliceAttr slice) const { return slice.getOffset() + slice.getSize() + slice.getRankStride() * (worldSize - 1); }

  /// What @micro_first leaves for @update @micro_next adds to: each byte once, by a command that reads it.
  LogicalResult checkAdded() {
    auto first = symbols.lookup<plan::SectionOp>("micro_first"), next = symbols.lookup<plan::SectionOp>("micro_next"),
         update = symbols.lookup<plan::SectionOp>("update");
    if (!first || !next || !update)
      return success();
    auto left = collectWrites(first), added = collectWrites(next);
    for (auto &[buffer, written] : left) {
      if (!isReadBy(update, buffer))
        continue;
      std::string name = "@" + cast<FlatSymbolRefAttr>(buffer).getValue().str();
      WrittenSlices &slices = added[buffer];
      llvm::stable_sort(slices, [](auto &a, auto &b) { return a.first.getOffset() < b.first.getOffset(); });
      int64_t end = 0;
      Operation *before = nullptr;
      for (auto [slice, op] : slices) {
        SmallVector<plan::SliceAttr> reads, writes;
        getSlices(op, reads, writes);
        const int64_t first = slice.getOffset();
        auto covers = [&](plan::SliceAttr read) {
          return read.getBuffer() == slice.getBuffer() && static_cast<int64_t>(read.getOffset()) <= first && getEnd(read) >= getEnd(slice);
        };
        if (isa<plan::CollectiveOp>(op) || llvm::none_of(reads, covers))
          return fail(op, "of section @micro_next writes to " + name + " without what is there; zero-to-plan adds micro-batches up",
                      written.front().second, "the first micro-batch's is written here");
        if (before && first < end)
          return fail(op, "adds to bytes " + Twine(first) + ".." + Twine(std::min(end, getEnd(slice))) + " of " + name +
                              " a second time; zero-to-plan adds each micro-batch once",
                      before, "the first time is here");
        end = getEnd(slice);
        before = op;
      }
      for (auto [slice, op] : written) {
        // Sorted: what lies in several slices one behind the other is found, too.
        int64_t at = slice.getOffset();
        for (auto [other, adder] : slices)
          if (static_cast<int64_t>(other.getOffset()) <= at)
            at = std::max(at, getEnd(other));
        if (at < getEnd(slice))
          return fail(next, "adds nothing to bytes " + Twine(at) + ".." + Twine(getEnd(slice)) + " of " + name +
                                ", which a step sums over its micro-batches; zero-insert-collectives adds them up",
                      op, "the first micro-batch's is written here");
      }
    }
    return success();
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t worldSize;
  llvm::StringMap<Operation *> named;
  DenseMap<Attribute, plan::StateOp> stateOf;       // by buffer, of what a step changes
  DenseMap<Attribute, plan::StepScalarOp> scalarOf; // by buffer
  DenseMap<Attribute, plan::StepResultOp> resultOf; // by slice
  DenseMap<Attribute, TypedPlace> typedPlaces;      // by slice
  DenseMap<Attribute, plan::CollectiveOp> sumIn;    // by buffer that is no state, of section @update
};

} // namespace

LogicalResult verifyPlanStates(ModuleOp module) { return StatesVerifier(module).run(); }

} // namespace zero
