//===- LeaveOutOutputs.cpp - nn-leave-out-outputs -------------------------===//
//
//   func.func @predict(%x ..) -> (output "y", output "s") {
//     %y = nn.relu %x
//     %s = nn.cumsum %x ..             // no kernel for it on the target
//     return %y, %s
//   }
// becomes, beside a @micro,
//   func.func @predict(%x ..) -> (output "y") {
//     %y = nn.relu %x
//     return %y
//   }
// with a remark: an output that the loss does not need must not keep anybody from training. What the target computes is not
// said twice: @predict is converted on trial, whole, and where that fails with one output at a time.
// Test: test/Conversion/leave-out-outputs.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Conversion/Passes.h"
#include "zero/Transforms/NN/Passes.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_NNLEAVEOUTOUTPUTS
#include "zero/Conversion/Passes.h.inc"

namespace {

class NNLeaveOutOutputs : public impl::NNLeaveOutOutputsBase<NNLeaveOutOutputs> {
public:
  using NNLeaveOutOutputsBase::NNLeaveOutOutputsBase;
  void runOnOperation() override {
    auto predict = getOperation().lookupSymbol<func::FuncOp>("predict");
    if (!predict || isForwardOnly(getOperation()) || tryToConvert(predict, BitVector(predict.getNumResults())).empty())
      return;
    BitVector left(predict.getNumResults());
    for (unsigned index = 0; index < predict.getNumResults(); ++index) {
      BitVector others(predict.getNumResults(), true);
      others.reset(index);
      std::string reason = tryToConvert(predict, others);
      if (reason.empty())
        continue;
      auto role = predict.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
      emitRemark(predict.front().getTerminator()->getOperand(index).getLoc())
          << "output '" << role.getName() << "' is left out of predictions: " << reason;
      left.set(index);
    }
    if (left.all())
      predict.erase();
    else
      drop(predict, left);
  }

private:
  /// Erases results, and ops that nothing reads then.
  static void drop(func::FuncOp function, const BitVector &results) {
    Operation *end = function.front().getTerminator();
    SmallVector<DictionaryAttr> attributes;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (!results[index])
        attributes.push_back(function.getResultAttrDict(index));
    end->eraseOperands(results);
    function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), end->getOperandTypes()));
    function.setAllResultAttrs(attributes);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// Converts a copy of the function without some results; why it cannot be, or nothing.
  std::string tryToConvert(func::FuncOp predict, const BitVector &without) {
    auto trial = ModuleOp::create(predict.getLoc());
    getOperation().push_back(trial); // pipelines run on what is inside the module
    func::FuncOp copy = predict.clone();
    trial.push_back(copy);
    drop(copy, without);
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createNNFormGroups());
    passes.addPass(createZeroToPlan());
    std::string reason;
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (reason.empty()) {
        if (auto node = diagnostic.getLocation()->findInstanceOf<NameLoc>())
          reason = "node '" + node.getName().str() + "': ";
        reason += diagnostic.str();
      }
      return success();
    });
    if (failed(runPipeline(passes, trial)) && reason.empty())
      reason = "it cannot be converted";
    trial.erase();
    return reason;
  }
};

} // namespace
} // namespace zero
