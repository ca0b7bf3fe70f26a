//===- Roles.cpp - Verifiers of nn.role and nn.data -----------------------===//
#include "dialects/NN/Batched.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NN/Shapes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace zero::nn;

/// True for roles that stand for one number of a step.
static bool isScalarRole(RoleKind kind) {
  switch (kind) {
  case RoleKind::LossSum:
  case RoleKind::LabelCount:
  case RoleKind::Loss:
  case RoleKind::GradNorm:
  case RoleKind::LearningRate:
  case RoleKind::BiasCorrection1:
  case RoleKind::BiasCorrection2:
  case RoleKind::SkipNonFinite:
  case RoleKind::Skipped:
    return true;
  default:
    return isStateScalarRole(kind);
  }
}

/// `where` is "argument #3" or "result #0". Types other than tensors belong to later dialects.
static LogicalResult verifyRole(Operation *op, const Twine &where, Type type, Attribute attribute) {
  auto role = dyn_cast<RoleAttr>(attribute);
  if (!role)
    return op->emitOpError() << where << " has nn.role " << attribute << ", which is no #nn.role";
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  if (tensor && isScalarRole(role.getKind()) && tensor.getRank() != 0)
    return op->emitOpError() << where << " has role " << stringifyRoleKind(role.getKind()) << " but "
                             << tensor.getRank() << " dimensions, not 0";
  return success();
}

/// Step inputs carry the number that the executor computes them from: the base rate, a beta, a default.
bool zero::nn::isStepScalarRole(RoleKind kind) {
  return kind == RoleKind::LearningRate || kind == RoleKind::BiasCorrection1 ||
         kind == RoleKind::BiasCorrection2 || kind == RoleKind::SkipNonFinite;
}

bool zero::nn::isStateScalarRole(RoleKind kind) {
  return kind == RoleKind::LossScale || kind == RoleKind::ScaleWindowSteps || kind == RoleKind::ScaleHysteresis;
}

/// Weights lie in the file as their host tensors do: one byte for an i1.
static uint64_t byteSize(RankedTensorType type) {
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

/// Values of type `from` may be rounded to type `to` where they are read.
static bool isSameOrNarrowed(Type from, Type to) {
  return from == to || (isa<FloatType>(from) && isa<FloatType>(to) &&
                        from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth());
}

Type zero::nn::getDataElement(Attribute data, RankedTensorType type) {
  Type element = type.getElementType();
  auto narrowed = [&](Type from) { return isSameOrNarrowed(from, element) ? from : Type(); };
  if (auto initial = dyn_cast_or_null<InitialAttr>(data))
    return narrowed(initial.getElement());
  if (auto elements = dyn_cast_or_null<ElementsAttr>(data))
    return narrowed(elements.getElementType());
  auto external = dyn_cast_or_null<ExternalAttr>(data);
  if (!external || !type.hasStaticShape())
    return element;
  MLIRContext *context = type.getContext();
  for (Type from : {element, Type(Float32Type::get(context)), Type(Float64Type::get(context))})
    if (external.getLength() == byteSize(type.clone(from)))
      return narrowed(from);
  return Type();
}

static LogicalResult verifyData(Operation *op, const Twine &where, Type type, Attribute role,
                                Attribute attribute) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  auto kind = dyn_cast_or_null<RoleAttr>(role);
  if (kind && isStepScalarRole(kind.getKind())) {
    if (!isa<FloatAttr>(attribute))
      return op->emitOpError() << where << " is a step input but nn.data is " << attribute
                               << ", not a number";
    return success();
  }
  if (kind && isStateScalarRole(kind.getKind())) {
    bool isFloat = tensor && isa<FloatType>(tensor.getElementType());
    if (tensor && !(isFloat ? isa<FloatAttr>(attribute) : isa<IntegerAttr>(attribute)))
      return op->emitOpError() << where << " is a state of type " << tensor << " but nn.data is " << attribute
                               << ", not a number of its kind";
    return success();
  }
  if (!kind || (kind.getKind() != RoleKind::Parameter && kind.getKind() != RoleKind::Frozen))
    return op->emitOpError() << where << " has nn.data but is neither a parameter nor frozen";
  if (auto external = dyn_cast<ExternalAttr>(attribute)) {
    if (tensor && !getDataElement(external, tensor))
      return op->emitOpError() << where << " holds " << byteSize(tensor) << " bytes but nn.data names "
                               << external.getLength() << " of file '" << external.getFile() << "'";
    return success();
  }
  // A bucket has one for each of its slots.
  if (auto slots = dyn_cast<ArrayAttr>(attribute); slots && type && !tensor) {
    for (Attribute slot : slots)
      if (failed(verifyData(op, where, Type(), role, slot)))
        return failure();
    return success();
  }
  if (auto initial = dyn_cast<InitialAttr>(attribute)) {
    if (tensor && !getDataElement(initial, tensor))
      return op->emitOpError() << where << " has type " << tensor << " but its nn.data makes "
                               << initial.getElement();
    return success();
  }
  if (isa<MissingAttr>(attribute))
    return success();
  auto elements = dyn_cast<ElementsAttr>(attribute);
  if (!elements)
    return op->emitOpError() << where
                             << " has nn.data that is neither #nn.external, #nn.initial, #nn.missing nor elements";
  if (tensor && (elements.getShapedType().getShape() != tensor.getShape() || !getDataElement(elements, tensor)))
    return op->emitOpError() << where << " has type " << tensor << " but its nn.data has "
                             << elements.getShapedType();
  return success();
}

static LogicalResult verifyLimit(Operation *op, const Twine &where, Attribute role,
                                 NamedAttribute attribute) {
  auto kind = dyn_cast_or_null<RoleAttr>(role);
  if (!kind || (kind.getKind() != RoleKind::Input && kind.getKind() != RoleKind::Label))
    return op->emitOpError() << where << " has " << attribute.getName().getValue()
                             << " but is neither an input nor a label";
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!number || !number.getType().isSignlessInteger(64))
    return op->emitOpError() << where << " has " << attribute.getName().getValue() << " "
                             << attribute.getValue() << ", not an i64";
  return success();
}

/// `expected`: the one kind of role that may be batched there.
static LogicalResult verifyBatched(Operation *op, const Twine &where, Type type, Attribute role,
                                   RoleKind expected, Attribute attribute) {
  auto kind = dyn_cast_or_null<RoleAttr>(role);
  if (!kind || kind.getKind() != expected)
    return op->emitOpError() << where << " has " << kBatchedAttrName << " but is no "
                             << stringifyRoleKind(expected);
  if (!isa<UnitAttr>(attribute))
    return op->emitOpError() << where << " has " << kBatchedAttrName << " " << attribute << ", not a unit";
  if (auto tensor = dyn_cast_or_null<RankedTensorType>(type); tensor && tensor.getRank() == 0)
    return op->emitOpError() << where << " has " << kBatchedAttrName << " but no dimension";
  return success();
}

LogicalResult NNDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kModelAttrName) {
    if (!isa<ModuleOp>(op) || !isa<ExternalAttr>(attribute.getValue()))
      return op->emitOpError() << "has nn.model " << attribute.getValue() << "; it is a module's #nn.external";
    return success();
  }
  return op->emitOpError() << "has attribute '" << attribute.getName().getValue()
                           << "', which belongs on arguments and results of functions";
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned index,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getArgumentTypes()[index] : Type();
  if (attribute.getName() == kRoleAttrName)
    return verifyRole(op, "argument #" + Twine(index), type, attribute.getValue());
  if (attribute.getName() == kDataAttrName)
    return verifyData(op, "argument #" + Twine(index), type,
                      function ? function.getArgAttr(index, kRoleAttrName) : Attribute(),
                      attribute.getValue());
  if (attribute.getName() == kLimitAttrName || attribute.getName() == kIgnoreIndexAttrName)
    return verifyLimit(op, "argument #" + Twine(index),
                       function ? function.getArgAttr(index, kRoleAttrName) : Attribute(), attribute);
  if (attribute.getName() == kBatchedAttrName)
    return verifyBatched(op, "argument #" + Twine(index), type,
                         function ? function.getArgAttr(index, kRoleAttrName) : Attribute(), RoleKind::Input,
                         attribute.getValue());
  return op->emitOpError() << "argument #" << index << " has unknown attribute '"
                           << attribute.getName().getValue() << "'";
}

LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op, unsigned region, unsigned index,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getResultTypes()[index] : Type();
  if (attribute.getName() == kRoleAttrName)
    return verifyRole(op, "result #" + Twine(index), type, attribute.getValue());
  if (attribute.getName() == kBatchedAttrName)
    return verifyBatched(op, "result #" + Twine(index), type,
                         function ? function.getResultAttr(index, kRoleAttrName) : Attribute(),
                         RoleKind::Output, attribute.getValue());
  return op->emitOpError() << "result #" << index << " has unknown attribute '"
                           << attribute.getName().getValue() << "'";
}
