//===- NonFinite.h - Where a step's numbers are infinite or NaN -----------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_NONFINITE_H
#define ZERO_LIB_RUNTIME_EXECUTOR_NONFINITE_H

#include "lib/Runtime/Executor/Memory.h"
#include "zero/Runtime/Executor/Executor.h"

namespace zero {

/// What this rank holds of the gradient of one slot of a bucket; `elements` 0: nothing.
struct HeldGradient {
  const schema::Slice *slice = nullptr;
  uint64_t offset = 0; ///< bytes from the slice's start
  uint64_t elements = 0, elementBytes = 0;
  uint64_t exponent = 0; ///< its bits in an element
};
/// One for each slot of each bucket, in the plan's order.
std::vector<HeldGradient> findHeldGradients(const schema::Plan &plan, unsigned rank);

/// See Executor::nonFiniteGradients: of gradients that the host can read.
Expected<std::string> findNonFiniteGradients(const schema::Plan &plan, Memory &memory, unsigned rank);

/// Says what of a step is not finite, and where as far as that can be known: "the loss is nan on rank 1", "the gradient norm
/// is inf, the gradient of 'h.0.q' is not finite, and 3 more". Every rank calls it.
Expected<std::string> describeNonFinite(const schema::Plan &plan, const Executor &executor, Bootstrap &bootstrap);

} // namespace zero

#endif
