//===- VerifyScalars.cpp - The part of plan-verify about what scalars are made of ===//
//
// One walk over section `update`, which keeps for each slice the kinds of scalars that its bytes are computed from, through the
// bodies of generated kernels result by result: a loss that is the norm, or a learning rate that is the loss, has as many bytes.
//
//===----------------------------------------------------------------------===//
#include "VerifyScalars.h"
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Analysis/OptimizerRoles.h"
#include "zero/Analysis/PlanMemory.h"

using namespace mlir;

namespace zero {
namespace {

/// The kinds of what a scalar is made of: bits, by their place in `kinds`.
using Kinds = unsigned;

constexpr StringRef kSquares = "sum_squares";

class ScalarsVerifier {
public:
  explicit ScalarsVerifier(ModuleOp module) : module(module), symbols(module) {
    auto start = [&](StringRef kind, plan::SliceAttr slice, Operation *op) {
      kinds.push_back({kind, op});
      made[slice] = Kinds(1) << (kinds.size() - 1);
    };
    for (auto result : module.getOps<plan::StepResultOp>()) {
      if (result.getKind() == "loss_sum" || result.getKind() == "label_count")
        start(result.getKind(), result.getSlice(), result);
      else
        resultOf[result.getSlice()] = result;
    }
    for (auto scalar : module.getOps<plan::StepScalarOp>())
      start(scalar.getKind(), scalar.getSlice(), scalar);
    for (auto state : module.getOps<plan::StateOp>())
      if (state.getRole() == "loss_scale")
        start(state.getRole(), state.getSlice(), state);
  }

  LogicalResult run() {
    auto update = symbols.lookup<plan::SectionOp>("update");
    if (!update)
      return success();
    for (auto squares : update.getBody().front().getOps<plan::DispatchOp>())
      if (squares.getKernel() == kSquares) {
        kinds.push_back({kSquares, squares});
        break;
      }
    for (Operation &op : update.getBody().front())
      if (failed(enter(&op)))
        return failure();
    for (auto [slice, result] : resultOf)
      if (failed(checkResult(result)))
        return failure();
    return success();
  }

private:
  Kinds bitOf(StringRef kind) const {
    for (auto [place, known] : llvm::enumerate(kinds))
      if (known.first == kind)
        return Kinds(1) << place;
    return 0;
  }
  Operation *findOrigin(StringRef kind) const {
    return llvm::find_if(kinds, [&](auto &known) { return known.first == kind; })->second;
  }

  LogicalResult enter(Operation *op) {
    SmallVector<plan::SliceAttr> reads, writes;
    getSlices(op, reads, writes);
    auto dispatch = dyn_cast<plan::DispatchOp>(op);
    auto kernel = dispatch ? symbols.lookup<plan::KernelOp>(dispatch.getKernel()) : plan::KernelOp();
    auto body = kernel ? symbols.lookup<func::FuncOp>(kernel.getBodyFunction()) : func::FuncOp();
    if (body && !body.empty())
      return enter(dispatch, body, reads, writes);
    Kinds all = dispatch && dispatch.getKernel() == kSquares ? bitOf(kSquares) : 0;
    for (plan::SliceAttr read : reads)
      all |= made.lookup(read);
    for (plan::SliceAttr write : writes)
      made[write] = all;
    return success();
  }

  LogicalResult enter(plan::DispatchOp dispatch, func::FuncOp body, ArrayRef<plan::SliceAttr> reads, ArrayRef<plan::SliceAttr> writes) {
    DenseMap<Value, Kinds> of;
    for (auto [argument, slice] : llvm::zip(body.getArguments(), reads))
      of[argument] = made.lookup(slice);
    auto getSlice = [&](Value value) -> plan::SliceAttr {
      auto argument = dyn_cast_or_null<BlockArgument>(value);
      return argument && argument.getOwner() == &body.front() ? reads[argument.getArgNumber()] : plan::SliceAttr();
    };
    for (Operation &op : body.front().without_terminator()) {
      Kinds all = 0;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          all |= of.lookup(operand);
      });
      for (Value result : op.getResults())
        of[result] = all;
      if (std::optional<OptimizerRoles> roles = getOptimizerRoles(&op))
        if (failed(checkUpdate(dispatch, *roles, getSlice)))
          return failure();
    }
    for (auto [value, slice] : llvm::zip(body.front().getTerminator()->getOperands(), writes))
      made[slice] = of.lookup(value);
    return success();
  }

  LogicalResult checkUpdate(plan::DispatchOp dispatch, const OptimizerRoles &roles, llvm::function_ref<plan::SliceAttr(Value)> getSlice) {
    for (auto [role, value] : roles.operands)
      if (plan::SliceAttr slice = getSlice(value); slice && isScalarRole(role))
        if (StringRef kind = nn::stringifyRoleKind(role); failed(checkOperand(dispatch, slice, kind, {kind})))
          return failure();
    if (plan::SliceAttr scale = getSlice(roles.scale); scale && failed(checkOperand(dispatch, scale, "gradient's scale", {"label_count", "loss_scale"})))
      return failure();
    plan::SliceAttr skip = getSlice(roles.skip);
    return skip ? checkOperand(dispatch, skip, "skip", {"skip_non_finite"}) : success();
  }

  static bool isScalarRole(nn::RoleKind role) {
    return role == nn::RoleKind::LearningRate || role == nn::RoleKind::BiasCorrection1 || role == nn::RoleKind::BiasCorrection2;
  }

  LogicalResult checkOperand(plan::DispatchOp dispatch, plan::SliceAttr slice, StringRef what, ArrayRef<StringRef> from) {
    if (plan::StepResultOp result = resultOf.lookup(slice); result && result.getKind() != "skipped") {
      auto error = dispatch.emitError() << "takes step result '" << result.getKind() << "' as its " << what << "; zero-to-plan gives each its place";
      error.attachNote(result.getLoc()) << "the step result is here";
      return error;
    }
    return checkMade(dispatch, slice, "takes @" + slice.getBuffer().getValue() + " as its " + what, from);
  }

  LogicalResult checkMade(Operation *op, plan::SliceAttr slice, const Twine &what, ArrayRef<StringRef> from) {
    for (StringRef kind : from) {
      if ((made.lookup(slice) & bitOf(kind)) == bitOf(kind))
        continue;
      auto error = op->emitError() << what << ", which is not made of '" << kind << "'; zero-to-plan gives each its place";
      error.attachNote(findOrigin(kind)->getLoc()) << "'" << kind << "' is here";
      return error;
    }
    return success();
  }

  LogicalResult checkResult(plan::StepResultOp result) {
    StringRef kind = result.getKind();
    std::string what = "step result '" + kind.str() + "' is read from @" + result.getSlice().getBuffer().getValue().str();
    if (kind == "loss")
      return checkMade(result, result.getSlice(), what, {"loss_sum"});
    if (kind == "grad_norm")
      return checkMade(result, result.getSlice(), what, {kSquares});
    return kind == "skipped" ? checkMade(result, result.getSlice(), what, {"skip_non_finite"}) : success();
  }

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<std::pair<StringRef, Operation *>> kinds; // and where each comes from
  DenseMap<Attribute, Kinds> made;                      // by slice
  llvm::MapVector<Attribute, plan::StepResultOp> resultOf; // by slice, of what `update` makes
};

} // namespace

LogicalResult verifyPlanScalars(ModuleOp module) { return ScalarsVerifier(module).run(); }

} // namespace zero
