//===- ShapeInference.h - Result types of nn ops from their operands ------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_SHAPEINFERENCE_H
#define ZERO_LIB_TRANSFORMS_NN_SHAPEINFERENCE_H

#include "dialects/NN/NNOps.h"

namespace zero {

/// Sets the result types of an op whose operand types are static. What the types of its operands do not say,
/// the result type must: a `?` that it may keep is the operand's size (broadcast, slice) or what remains
/// (reshape). A diagnostic if a size cannot be known or does not fit. Ops with a shape operand are not
/// handled here.
llvm::LogicalResult inferResultTypes(mlir::Operation *op);

} // namespace zero

#endif
