//===- Passes.h - Declares and registers the passes of Conversion ----===//
#ifndef ZERO_CONVERSION_PASSES_H
#define ZERO_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"

namespace zero {
#define GEN_PASS_DECL
#include "zero/Conversion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "zero/Conversion/Passes.h.inc"
} // namespace zero

#endif
