//===- OperandVerifier.h - Slices of one command that share bytes ---------===//
#ifndef ZERO_LIB_CONTAINER_OPERANDVERIFIER_H
#define ZERO_LIB_CONTAINER_OPERANDVERIFIER_H

#include "lib/Container/plan_generated.h"
#include "zero/Runtime/Base/Status.h"

namespace zero {

/// No command writes over what it reads or writes itself through another buffer, and no collective over its own operands but in place. Slices
/// must lie in their buffers and buffers in their arenas.
Status verifyOperands(const schema::Plan &plan);

} // namespace zero

#endif
