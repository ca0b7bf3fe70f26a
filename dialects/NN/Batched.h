//===- Batched.h - The attribute nn.batched -------------------------------===//
#ifndef ZERO_DIALECTS_NN_BATCHED_H
#define ZERO_DIALECTS_NN_BATCHED_H

#include "llvm/ADT/StringRef.h"

namespace zero::nn {

/// Unit, on results of role output and on inputs of functions without a loss: the first dimension counts the
/// samples of a micro-batch (of an output: times a number of rows of each). What has it not is the same for
/// every sample. Inputs and labels of a function with a loss are batched without saying so.
inline constexpr llvm::StringLiteral kBatchedAttrName = "nn.batched";

} // namespace zero::nn

#endif
