//===- VerifyTrainingGraph.cpp - nn-verify-training-graph -----------------===//
//
// The contract of phase backward. Edits nothing.
//
//   func.func @micro(.., %w {parameter "w"}) -> (loss_sum, label_count, gradient "w")
//   func.func @update(%w {parameter "w"}, %g {gradient "w"}, ..) -> (parameter "w", .., loss, grad_norm) {
//     %p, .. = nn.adam %w, %g, ..
//   func.func @predict(%w {parameter "w"}, ..) -> (output "y", ..)     // optional; alone where nothing is trained
// passes; a parameter without a gradient of its type, or without an update from itself and its gradient, does
// not.
// Test: test/Transforms/NN/verify-training-graph.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/GradientPaths.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNVERIFYTRAININGGRAPH
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

struct State {
  RoleAttr role;
  Type type;
  Value value; // the argument, or what is returned
};

/// Gradients are reduced and accumulated in a type of their own: f32 or one of 16 bits where both are among these.
bool isSameGradient(Type a, Type b) {
  auto isMixed = [](Type type) {
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    return element && element.getWidth() <= 32;
  };
  return a == b || (isMixed(a) && isMixed(b) && cast<ShapedType>(a).getShape() == cast<ShapedType>(b).getShape());
}

/// The states of a function's arguments or results; a MapVector so that errors come in program order.
using States = llvm::MapVector<RoleAttr, State>;

std::string spell(RoleAttr role) {
  std::string text = stringifyRoleKind(role.getKind()).str();
  return role.getName().empty() ? text : text + " '" + role.getName().str() + "'";
}

class NNVerifyTrainingGraph : public impl::NNVerifyTrainingGraphBase<NNVerifyTrainingGraph> {
public:
  void runOnOperation() override {
    microArguments.clear();
    microResults.clear();
    markAllAnalysesPreserved();
    if (isForwardOnly(getOperation())) {
      auto predict = getFunction("predict", "nn-build-backward");
      if (!predict || failed(checkOps(predict)) || failed(checkPredict(predict, /*trains=*/false)))
        signalPassFailure();
      return;
    }
    auto micro = getFunction("micro", "nn-build-backward");
    auto update = micro ? getFunction("update", "nn-append-optimizer") : func::FuncOp();
    if (!update || failed(checkOps(micro)) || failed(checkOps(update)) || failed(checkMicro(micro)) ||
        failed(checkUpdate(update)) || failed(checkGradients(micro)))
      return signalPassFailure();
    if (auto predict = getOperation().lookupSymbol<func::FuncOp>("predict"))
      if (failed(checkOps(predict)) || failed(checkPredict(predict, /*trains=*/true)))
        signalPassFailure();
  }

private:
  func::FuncOp getFunction(StringRef name, StringRef pass) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function)
      getOperation().emitError() << "module has no function @" << name << "; run " << pass;
    else if (!function.getBody().hasOneBlock()) {
      function.emitError() << "@" << name << " has " << function.getBody().getBlocks().size()
                           << " blocks, expected 1";
      return {};
    }
    return function;
  }

  LogicalResult checkOps(func::FuncOp function) {
    WalkResult result = function.getBody().walk([&](Operation *op) {
      if (!isa<NNDialect>(op->getDialect()) && !isa<func::ReturnOp>(op)) {
        op->emitOpError() << "does not belong in @" << function.getName()
                          << ": phase backward holds nn ops only";
        return WalkResult::interrupt();
      }
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
        if (!cast<ShapedType>(type).hasStaticShape()) {
          op->emitError() << "has the type " << type
                          << " whose shape is not static; nn-bind-batch should have bound it";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult insert(States &states, RoleAttr role, Value value, Location loc, const Twine &what) {
    if (!role)
      return emitError(loc) << what << " has no role";
    if (!states.insert({role, State{role, value.getType(), value}}).second)
      return emitError(loc) << what << " has the role " << spell(role) << " a second time";
    return success();
  }

  LogicalResult collect(func::FuncOp function, States &arguments, States &results) {
    StringRef name = function.getName();
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (failed(insert(arguments, function.getArgAttrOfType<RoleAttr>(i, kRoleAttrName), argument,
                        argument.getLoc(), "argument #" + Twine(i) + " of @" + name)))
        return failure();
    }
    Operation *end = function.front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (failed(insert(results, function.getResultAttrOfType<RoleAttr>(i, kRoleAttrName), value,
                        function.getLoc(), "result #" + Twine(i) + " of @" + name)))
        return failure();
    return success();
  }

  RoleAttr role(RoleKind kind, StringRef name = "") { return RoleAttr::get(&getContext(), kind, name); }

  LogicalResult requireResult(func::FuncOp function, const States &results, RoleKind kind, StringRef pass) {
    if (results.contains(role(kind)))
      return success();
    return function.emitError() << "@" << function.getName() << " returns no " << stringifyRoleKind(kind)
                                << "; " << pass << " should have added it";
  }

  LogicalResult checkMicro(func::FuncOp micro) {
    if (failed(collect(micro, microArguments, microResults)) ||
        failed(requireResult(micro, microResults, RoleKind::LossSum, "nn-build-backward")) ||
        failed(requireResult(micro, microResults, RoleKind::LabelCount, "nn-build-backward")))
      return failure();
    for (auto &[key, state] : microArguments) {
      RoleKind kind = key.getKind();
      if (kind != RoleKind::Input && kind != RoleKind::Label && kind != RoleKind::Parameter &&
          kind != RoleKind::Frozen && kind != RoleKind::LossScale)
        return emitError(state.value.getLoc())
               << "@micro takes " << spell(key)
               << ", expected inputs, labels, parameters, frozen weights and a loss scale only";
      if (kind != RoleKind::Parameter)
        continue;
      auto gradient = microResults.find(role(RoleKind::Gradient, key.getName()));
      if (gradient == microResults.end())
        return emitError(state.value.getLoc()) << "parameter '" << key.getName()
                                               << "' has no gradient; nn-build-backward should have built it";
      if (gradient->second.type != state.type)
        return emitError(state.value.getLoc())
               << "parameter '" << key.getName() << "' has type " << state.type
               << " but its gradient has type " << gradient->second.type;
    }
    for (auto &[key, state] : microResults) {
      RoleKind kind = key.getKind();
      if (kind == RoleKind::Gradient && !microArguments.contains(role(RoleKind::Parameter, key.getName())))
        return micro.emitError() << "@micro returns " << spell(key) << " but takes no parameter of that name";
      if (kind != RoleKind::Gradient && kind != RoleKind::LossSum && kind != RoleKind::LabelCount)
        return micro.emitError() << "@micro returns " << spell(key)
                                 << ", expected loss_sum, label_count and gradients only";
    }
    return success();
  }

  LogicalResult checkGradients(func::FuncOp micro) {
    std::optional<GradientFault> fault = findForeignGradient(micro);
    if (!fault)
      return success();
    InFlightDiagnostic error = emitError(fault->loc) << "@micro " << fault->message << "; nn-build-backward returns each under its parameter's name";
    error.attachNote(fault->other) << fault->note;
    return error;
  }

  /// @predict returns outputs alone; what it takes, @micro takes with the same type. Where nothing is trained it takes
  /// inputs and frozen weights.
  LogicalResult checkPredict(func::FuncOp predict, bool trains) {
    States arguments, results;
    if (failed(collect(predict, arguments, results)))
      return failure();
    for (auto &[key, state] : results)
      if (key.getKind() != RoleKind::Output)
        return predict.emitError() << "@predict returns " << spell(key) << ", expected outputs only";
    for (auto &[key, state] : arguments) {
      auto known = microArguments.find(key);
      bool isData = key.getKind() == RoleKind::Input || key.getKind() == RoleKind::Frozen;
      if (trains ? known == microArguments.end() && key.getKind() != RoleKind::Frozen : !isData)
        return emitError(state.value.getLoc())
               << "@predict takes " << spell(key)
               << (trains ? ", which @micro does not have" : ", expected inputs and frozen weights only");
      if (known != microArguments.end() && known->second.type != state.type)
        return emitError(state.value.getLoc()) << spell(key) << " has type " << state.type << " in @predict and "
                                               << known->second.type << " in @micro";
    }
    return success();
  }

  LogicalResult checkUpdate(func::FuncOp update) {
    States arguments, results;
    if (failed(collect(update, arguments, results)) ||
        failed(requireResult(update, results, RoleKind::Loss, "nn-append-optimizer")) ||
        failed(requireResult(update, results, RoleKind::GradNorm, "nn-append-optimizer")))
      return failure();
    for (auto &[key, state] : arguments) {
      bool isArgument = key.getKind() == RoleKind::Parameter || key.getKind() == RoleKind::LossScale;
      const States &origin = isArgument ? microArguments : microResults;
      bool fromMicro = isArgument || llvm::is_contained({RoleKind::Gradient, RoleKind::LossSum, RoleKind::LabelCount},
                                                        key.getKind());
      auto found = origin.find(key);
      if (fromMicro && found == origin.end())
        return emitError(state.value.getLoc())
               << "@update takes " << spell(key) << ", which @micro does not have";
      auto isAlike = [&](Type type) {
        return key.getKind() == RoleKind::Gradient ? isSameGradient(type, state.type) : type == state.type;
      };
      if (fromMicro && !isAlike(found->second.type))
        return emitError(state.value.getLoc()) << spell(key) << " has type " << state.type
                                               << " in @update and " << found->second.type << " in @micro";
    }
    for (auto &[key, state] : results) {
      if (key.getKind() == RoleKind::Loss || key.getKind() == RoleKind::GradNorm || key.getKind() == RoleKind::Skipped)
        continue;
      auto argument = arguments.find(key);
      if (argument == arguments.end())
        return update.emitError() << "@update returns " << spell(key) << " but does not take it";
      if (argument->second.type != state.type)
        return update.emitError() << "@update takes " << spell(key) << " as " << argument->second.type
                                  << " and returns it as " << state.type;
    }
    for (auto &[key, state] : microArguments)
      if (key.getKind() == RoleKind::Parameter &&
          failed(checkUpdated(update, key, state, arguments, results)))
        return failure();
    return success();
  }

  /// The parameter that @update returns is an optimizer op's, made from that parameter and its own gradient.
  LogicalResult checkUpdated(func::FuncOp update, RoleAttr parameter, const State &state,
                             const States &arguments, const States &results) {
    StringRef name = parameter.getName();
    auto result = results.find(parameter);
    if (result == results.end())
      return emitError(state.value.getLoc())
             << "parameter '" << name << "' has no update; nn-append-optimizer should have built it";
    Operation *op = result->second.value.getDefiningOp();
    if (!op || !isa<AdamOp, SgdOp>(op) || result->second.value != op->getResult(0))
      return update.emitError() << "new parameter '" << name
                                << "' is not the first result of an optimizer op";
    auto operandIs = [&](unsigned i, RoleAttr wanted) {
      auto found = arguments.find(wanted);
      return found != arguments.end() && found->second.value == op->getOperand(i);
    };
    RoleAttr master = role(RoleKind::Master, name);
    Value oldMaster = isa<AdamOp>(op) ? cast<AdamOp>(op).getMaster() : cast<SgdOp>(op).getMaster();
    auto known = arguments.find(master), next = results.find(master);
    if (oldMaster || known != arguments.end()) {
      if (known == arguments.end() || known->second.value != oldMaster)
        return op->emitError() << "new parameter '" << name << "' is not computed from master '" << name << "'";
      if (next == results.end() || next->second.value != op->getResult(1))
        return update.emitError() << "@update does not return the new master '" << name << "' of its optimizer op";
    }
    if (!operandIs(0, parameter) || !operandIs(1, role(RoleKind::Gradient, name)))
      return op->emitError() << "new parameter '" << name << "' is not computed from parameter '" << name
                             << "' and its gradient";
    return success();
  }

  States microArguments, microResults;
};
} // namespace
} // namespace zero
