//===- ZeroToPlan.cpp - zero-to-plan --------------------------------------===//
//
//   func.func @micro(%x ..<input "x">, %s ..<parameter "b0">) -> (..<gradient "b0">) {
//     %w = zero.view %s["w"]
//     %g = nn.matmul %x, %x transpose_lhs
//     %p = zero.pack @b0 (%g)
//     return %p
//   }
//
// becomes
//
//   plan.buffer @input.x in @device {..}
//   plan.buffer @parameter.b0 in @device {..}
//   plan.buffer @gradient.b0 in @device {..}
//   plan.section @micro_first {
//     plan.dispatch "matmul" on compute reads [<@input.x, ..>] writes [<@gradient.b0, 0, 256>] ..
//     plan.zero on compute [#plan.slice<@gradient.b0, 256, 256>] ..
//   }
//
//===----------------------------------------------------------------------===//
#include "SectionCommands.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "zero/Conversion/Passes.h"

using namespace mlir;
using zero::nn::RoleKind;

namespace zero {
#define GEN_PASS_DEF_ZEROTOPLAN
#include "zero/Conversion/Passes.h.inc"

using namespace conversion;

namespace {

class ZeroToPlan : public impl::ZeroToPlanBase<ZeroToPlan> {
public:
  using ZeroToPlanBase::ZeroToPlanBase;
  void runOnOperation() override {
    if (failed(convert()))
      signalPassFailure();
  }

private:
  LogicalResult convert() {
    ModuleOp module = getOperation();
    PlanFunctions functions;
    functions.micro = module.lookupSymbol<func::FuncOp>("micro");
    functions.update = module.lookupSymbol<func::FuncOp>("update");
    functions.predict = module.lookupSymbol<func::FuncOp>("predict");
    func::FuncOp micro = functions.micro, update = functions.update, predict = functions.predict;
    if ((!micro || !update) && (micro || update || !predict))
      return module.emitError() << "module has no function @" << (micro ? "update" : "micro")
                                << "; zero-to-plan takes a module of phase schedule";
    PlanBuilder plan(module);
    for (auto bucket : module.getOps<sharding::BucketOp>())
      if (Type element = bucket.getElement(); plan.getWorldSize() > 1 && !element.isF32() && !element.isF16() && !element.isBF16()) {
        auto first = cast<sharding::SlotAttr>(bucket.getSlots()[0]);
        return bucket.emitError() << "parameter '" << first.getName() << "' has elements of type " << element
                                  << ", but gradients are summed over the " << plan.getWorldSize()
                                  << " ranks as f32, f16 or bf16 only";
      }
    if (failed(plan.collectStates(functions)))
      return failure();
    if ((micro && (failed(lowerMicro(plan, micro)) || failed(lower(plan, update, SectionKind::Single, "update")))) ||
        (predict && failed(lower(plan, predict, SectionKind::Single, "predict"))) ||
        failed(plan.emitRecords(functions)))
      return failure();
    for (func::FuncOp function : functions.all())
      function.erase();
    module->setAttr("zero.phase", StringAttr::get(module.getContext(), "plan"));
    return success();
  }

  LogicalResult lowerMicro(PlanBuilder &plan, func::FuncOp micro) {
    bool accumulates = llvm::any_of(llvm::seq(micro.getNumArguments()), [&](unsigned index) {
      auto role = micro.getArgAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
      return role.getKind() == RoleKind::Gradient || role.getKind() == RoleKind::LossSum ||
             role.getKind() == RoleKind::LabelCount;
    });
    if (!accumulates)
      return lower(plan, micro, SectionKind::Single, "micro_first");
    if (failed(lower(plan, micro, SectionKind::First, "micro_first")))
      return failure();
    return lower(plan, micro, SectionKind::Next, "micro_next");
  }

  LogicalResult lower(PlanBuilder &plan, func::FuncOp function, SectionKind kind, StringRef name) {
    if (!function.getBody().hasOneBlock())
      return function.emitError() << "@" << function.getSymName() << " has "
                                  << function.getBody().getBlocks().size()
                                  << " blocks, a section is made of one";
    SectionPlacement placement(plan, function, kind, name);
    if (failed(placement.run()))
      return failure();
    if (failed(SectionCommands(plan, placement, function, name).run()))
      return failure();
    if (name == "update")
      return addStepResults(plan, placement, function);
    return success();
  }

  /// The loss, the norm, the number of counted labels over all ranks, and whether the update was held back; of the loss also
  /// the rank's own sum, and the loss scale, as they are before @update.
  LogicalResult addStepResults(PlanBuilder &plan, SectionPlacement &placement, func::FuncOp update) {
    for (unsigned index = 0; index < update.getNumResults(); ++index) {
      const State &state = *plan.findResultState(update, index);
      if (state.role.getKind() == RoleKind::Loss || state.role.getKind() == RoleKind::GradNorm ||
          state.role.getKind() == RoleKind::Skipped)
        plan.addStepResult(nn::stringifyRoleKind(state.role.getKind()),
                           cast<RankedTensorType>(state.type).getElementType(), state.place, state.loc);
    }
    for (BlockArgument argument : update.getArguments()) {
      const State &state = *plan.findArgumentState(update, argument.getArgNumber());
      if (state.role.getKind() == RoleKind::LossSum || state.role.getKind() == RoleKind::LossScale)
        plan.addStepResult(nn::stringifyRoleKind(state.role.getKind()), cast<RankedTensorType>(state.type).getElementType(),
                           state.place, state.loc);
      if (state.role.getKind() != RoleKind::LabelCount)
        continue;
      for (Operation *user : argument.getUsers())
        if (isa<sharding::ControlSumOp>(user) && !(placement.getPlace(user->getResult(0)) == state.place))
          return user->emitError(
              "the labels of all ranks are counted elsewhere than in their state: the rank's own count is "
              "read later");
      plan.addStepResult("label_count", cast<RankedTensorType>(state.type).getElementType(), state.place,
                         state.loc);
    }
    return success();
  }
};

} // namespace
} // namespace zero
