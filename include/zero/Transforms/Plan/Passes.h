//===- Passes.h - Declares and registers the passes of Transforms/Plan ----===//
#ifndef ZERO_TRANSFORMS_PLAN_PASSES_H
#define ZERO_TRANSFORMS_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "dialects/Plan/PlanOps.h"

namespace zero {
#define GEN_PASS_DECL
#include "zero/Transforms/Plan/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "zero/Transforms/Plan/Passes.h.inc"
} // namespace zero

#endif
