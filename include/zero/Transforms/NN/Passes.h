//===- Passes.h - Declares and registers the passes of Transforms/NN ----===//
#ifndef ZERO_TRANSFORMS_NN_PASSES_H
#define ZERO_TRANSFORMS_NN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "dialects/NN/NNOps.h"

namespace zero {
#define GEN_PASS_DECL
#include "zero/Transforms/NN/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "zero/Transforms/NN/Passes.h.inc"
} // namespace zero

#endif
