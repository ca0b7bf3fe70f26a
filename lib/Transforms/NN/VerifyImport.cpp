//===- VerifyImport.cpp - nn-verify-import --------------------------------===//
//
// The contract of phase import, changed by nothing: @forward takes inputs, labels, parameters and frozen
// weights with static shapes, holds no op of symbolic shapes, and returns what its one loss gives and outputs,
// or outputs alone. Test: test/Transforms/NN/verify-import.mlir
//
//===----------------------------------------------------------------------===//
#include "zero/Transforms/NN/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace zero::nn;

namespace zero {
#define GEN_PASS_DEF_NNVERIFYIMPORT
#include "zero/Transforms/NN/Passes.h.inc"

namespace {

class NNVerifyImport : public impl::NNVerifyImportBase<NNVerifyImport> {
public:
  void runOnOperation() override {
    func::FuncOp forward;
    for (Operation &op : *getOperation().getBody()) {
      // A mesh says for how many ranks a hand-written module is; this room need not know its dialect.
      if (op.getName().getStringRef() == "zero.mesh")
        continue;
      auto function = dyn_cast<func::FuncOp>(op);
      if (!function || function.getName() != "forward") {
        op.emitError() << "phase import holds nothing but @forward and a zero.mesh";
        return signalPassFailure();
      }
      forward = function;
    }
    if (!forward || forward.isExternal()) {
      getOperation().emitError() << "phase import needs a function @forward";
      return signalPassFailure();
    }
    if (failed(checkArguments(forward)) || failed(checkBody(forward)) || failed(checkResults(forward)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult checkArguments(func::FuncOp forward) {
    llvm::StringMap<unsigned> seen[2]; // data, and weights
    bool trains = false;
    for (BlockArgument argument : forward.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto role = forward.getArgAttrOfType<RoleAttr>(index, kRoleAttrName);
      if (!role)
        return emitError(argument.getLoc()) << "argument " << index << " of @forward has no nn.role";
      StringRef kind = stringifyRoleKind(role.getKind());
      bool isWeight = role.getKind() == RoleKind::Parameter || role.getKind() == RoleKind::Frozen;
      if (!isWeight && role.getKind() != RoleKind::Input && role.getKind() != RoleKind::Label)
        return emitError(argument.getLoc()) << "argument " << index << " of @forward has role '" << kind
                                            << "', which is not of phase import";
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !type.hasStaticShape())
        return emitError(argument.getLoc())
               << kind << " '" << role.getName() << "' has type " << argument.getType()
               << "; nn-bind-batch should have made it static";
      auto [entry, isNew] = seen[isWeight].try_emplace(role.getName(), index);
      if (!isNew) {
        InFlightDiagnostic error = emitError(argument.getLoc())
                                   << kind << " '" << role.getName() << "' is argument " << index
                                   << " and argument " << entry->second;
        error.attachNote(forward.getArgument(entry->second).getLoc()) << "the first is here";
        return error;
      }
      if (isWeight && !forward.getArgAttr(index, kDataAttrName))
        return emitError(argument.getLoc()) << kind << " '" << role.getName() << "' has no nn.data";
      if (role.getKind() == RoleKind::Parameter && !isa<FloatType>(type.getElementType()))
        return emitError(argument.getLoc())
               << "parameter '" << role.getName() << "' has type " << type << "; only floats are trained";
      trains |= role.getKind() == RoleKind::Parameter;
    }
    if (!trains && hasLoss(forward))
      return forward.emitError("@forward has no parameter to train");
    return success();
  }

  LogicalResult checkBody(func::FuncOp forward) {
    for (Operation &op : forward.getBody().front().without_terminator()) {
      if (!isa_and_nonnull<NNDialect>(op.getDialect()))
        return op.emitError() << "'" << op.getName() << "' is not an op of the nn dialect";
      if (isa<ShapeOfOp, BroadcastToOp>(op) || (isa<ReshapeOp>(op) && cast<ReshapeOp>(op).getShape()))
        return op.emitOpError("computes with shapes; nn-bind-batch should have removed it");
      for (Value result : op.getResults())
        if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && !type.hasStaticShape())
          return op.emitOpError() << "has a result of type " << type
                                  << "; nn-bind-batch should have made it static";
    }
    return success();
  }

  static bool hasRole(func::FuncOp forward, unsigned index, RoleKind kind) {
    auto role = forward.getResultAttrOfType<RoleAttr>(index, kRoleAttrName);
    return role && role.getKind() == kind;
  }
  /// A function that returns outputs alone predicts and does not train.
  static bool hasLoss(func::FuncOp forward) {
    return forward.getNumResults() == 0 || !hasRole(forward, 0, RoleKind::Output);
  }

  /// What the loss gives, if there is one; then outputs.
  LogicalResult checkResults(func::FuncOp forward) {
    unsigned first = 0;
    if (hasLoss(forward)) {
      if (failed(checkLoss(forward)))
        return failure();
      first = 2;
    }
    llvm::StringMap<unsigned> seen;
    for (unsigned index = first; index < forward.getNumResults(); ++index) {
      if (!hasRole(forward, index, RoleKind::Output))
        return forward.emitError() << "result " << index << " of @forward must have role 'output'";
      StringRef name = forward.getResultAttrOfType<RoleAttr>(index, kRoleAttrName).getName();
      auto [entry, isNew] = seen.try_emplace(name, index);
      if (!isNew)
        return forward.emitError() << "output '" << name << "' is result " << entry->second << " and result "
                                   << index << " of @forward";
    }
    return success();
  }

  LogicalResult checkLoss(func::FuncOp forward) {
    RoleKind expected[] = {RoleKind::LossSum, RoleKind::LabelCount};
    Operation *terminator = forward.getBody().front().getTerminator();
    if (terminator->getNumOperands() < 2)
      return forward.emitError() << "@forward returns " << terminator->getNumOperands()
                                 << " values, not the loss's 2";
    for (auto [index, kind] : llvm::enumerate(expected)) {
      auto role = forward.getResultAttrOfType<RoleAttr>(index, kRoleAttrName);
      if (!role || role.getKind() != kind)
        return forward.emitError() << "result " << index << " of @forward must have role '"
                                   << stringifyRoleKind(kind) << "'";
    }
    SmallVector<LossOpInterface> losses(forward.getBody().front().getOps<LossOpInterface>());
    // One that other ops read is part of one that the model computes.
    if (losses.size() > 1)
      llvm::erase_if(losses, [&](LossOpInterface loss) {
        return llvm::any_of(loss->getUsers(), [&](Operation *user) { return user != terminator; });
      });
    if (losses.size() != 1)
      return forward.emitError() << "@forward has " << losses.size() << " losses, not 1";
    for (unsigned index : {0u, 1u})
      if (terminator->getOperand(index) != losses.front()->getResult(index)) {
        InFlightDiagnostic error = terminator->emitError()
                                   << "result " << index << " of @forward is not result " << index
                                   << " of its loss";
        error.attachNote(losses.front().getLoc()) << "the loss is here";
        return error;
      }
    return success();
  }
};

} // namespace
} // namespace zero
