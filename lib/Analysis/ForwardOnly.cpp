//===- ForwardOnly.cpp - Modules that predict and train nothing -----------===//
#include "zero/Analysis/ForwardOnly.h"
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace zero {

bool isForwardOnly(ModuleOp module) {
  if (module.lookupSymbol("micro") || module.lookupSymbol("micro_first"))
    return false;
  if (module.lookupSymbol("predict"))
    return true;
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward || forward.getNumResults() == 0)
    return false;
  for (unsigned index = 0; index < forward.getNumResults(); ++index) {
    auto role = forward.getResultAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
    if (!role || role.getKind() != nn::RoleKind::Output)
      return false;
  }
  return true;
}

} // namespace zero
