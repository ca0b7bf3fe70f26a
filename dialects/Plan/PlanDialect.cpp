//===- PlanDialect.cpp - Registration of the plan dialect -----------------===//
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zero::plan;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

bool zero::plan::isForCuda(Operation *module) {
  auto target = module->getAttrOfType<StringAttr>(kTargetAttrName);
  return target && target == "cuda";
}

uint64_t zero::plan::getBufferAlignment(Operation *module) { return isForCuda(module) ? kCudaBufferAlignment : kBufferAlignment; }

uint64_t zero::plan::getCudaWorkspaceBytes(Operation *module) {
  auto bytes = module->getAttrOfType<IntegerAttr>(kCudaWorkspaceAttrName);
  return bytes ? bytes.getInt() : 0;
}

/// Attributes of the module: the target, and of target cuda how it computes.
LogicalResult PlanDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (!isa<ModuleOp>(op))
    return op->emitError() << "'" << name << "' is an attribute of modules";
  if (name == kTargetAttrName) {
    auto target = dyn_cast<StringAttr>(attribute.getValue());
    if (target && (target == "cpu" || target == "cuda"))
      return success();
    return op->emitError() << "'" << name << "' is " << attribute.getValue() << " but must be \"cpu\" or \"cuda\"";
  }
  if (!isForCuda(op))
    return op->emitError() << "'" << name << "' says how cuda kernels compute, but '" << kTargetAttrName << "' is not \"cuda\"";
  if (name == kCudaWorkspaceAttrName) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (bytes && bytes.getType().isSignlessInteger(64) && bytes.getInt() >= 0)
      return success();
    return op->emitError() << "'" << name << "' is " << attribute.getValue() << " but must be an i64 of at least 0";
  }
  if (name != kDeterministicAttrName && name != kFastAttrName && name != kTf32AttrName && name != kPlainProductsAttrName &&
      name != kCudnnConvolutionsAttrName)
    return op->emitError() << "'" << name << "' is no attribute of the plan dialect";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitError() << "'" << name << "' is " << attribute.getValue() << " but takes no value";
  if (op->hasAttr(kDeterministicAttrName) && op->hasAttr(kFastAttrName))
    return op->emitError() << "'" << kDeterministicAttrName << "' and '" << kFastAttrName << "' exclude each other";
  return success();
}
