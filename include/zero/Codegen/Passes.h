//===- Passes.h - Declares and registers the passes of Codegen ------------===//
#ifndef ZERO_CODEGEN_PASSES_H
#define ZERO_CODEGEN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace zero {
#define GEN_PASS_DECL
#include "zero/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "zero/Codegen/Passes.h.inc"
} // namespace zero

#endif
