//===- Passes.h - Declares and registers the passes of Transforms/Zero ----===//
#ifndef ZERO_TRANSFORMS_ZERO_PASSES_H
#define ZERO_TRANSFORMS_ZERO_PASSES_H

#include "mlir/Pass/Pass.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Zero/ZeroOps.h"

namespace zero {
#define GEN_PASS_DECL
#include "zero/Transforms/Zero/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "zero/Transforms/Zero/Passes.h.inc"
} // namespace zero

#endif
