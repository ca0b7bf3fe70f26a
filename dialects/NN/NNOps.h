//===- NNOps.h - The nn dialect -------------------------------------------===//
#ifndef ZERO_DIALECTS_NN_NNOPS_H
#define ZERO_DIALECTS_NN_NNOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NN/NNEnums.h.inc"

#include "dialects/NN/NNDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.h.inc"

namespace zero::nn {
/// The result does not depend differentiably on the operands ("no gradient" is said, never implied).
template <typename ConcreteType>
class NoGradient : public mlir::OpTrait::TraitBase<ConcreteType, NoGradient> {};
/// Result element i depends on element i of each operand only.
template <typename ConcreteType>
class ElementwiseOp : public mlir::OpTrait::TraitBase<ConcreteType, ElementwiseOp> {};

/// The names of the attributes of function arguments, results and modules.
inline constexpr llvm::StringLiteral kRoleAttrName = "nn.role";  // RoleAttr, on arguments and results
inline constexpr llvm::StringLiteral kDataAttrName = "nn.data";  // of weights: ExternalAttr, InitialAttr, MissingAttr or ElementsAttr; of step inputs: FloatAttr; of scalar states: FloatAttr or IntegerAttr
/// On the module: the ONNX file that it was imported from, whole, as an ExternalAttr.
inline constexpr llvm::StringLiteral kModelAttrName = "nn.model";
// i64, on inputs and labels: integers lie in [0, limit) or are `ignore_index`; who reads the data checks.
inline constexpr llvm::StringLiteral kLimitAttrName = "nn.limit";
inline constexpr llvm::StringLiteral kIgnoreIndexAttrName = "nn.ignore_index";

/// Roles of the numbers that the executor writes before @update.
bool isStepScalarRole(RoleKind kind);
/// Roles of the numbers that one step leaves to the next: `nn.data` has the number that they start with.
bool isStateScalarRole(RoleKind kind);
/// The element type in which `data` (of one weight of type `type`) holds its values: that of `type`, or a wider float
/// that is rounded to it (nearest even). Null where no such type has the bytes.
mlir::Type getDataElement(mlir::Attribute data, mlir::RankedTensorType type);
} // namespace zero::nn

#include "dialects/NN/NNInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNOps.h.inc"

#endif
