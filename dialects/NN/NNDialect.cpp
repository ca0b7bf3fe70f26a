//===- NNDialect.cpp - Registration of the nn dialect ---------------------===//
#include "dialects/NN/NNOps.h"
#include "dialects/NN/OptimizerTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zero::nn;

#include "dialects/NN/NNDialect.cpp.inc"
#include "dialects/NN/NNEnums.cpp.inc"
#include "dialects/NN/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNOps.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NN/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/NN/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
