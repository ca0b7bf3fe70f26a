//===- Parallel.h - ParallelFor over a lambda -----------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_PARALLEL_H
#define ZERO_LIB_RUNTIME_KERNELS_PARALLEL_H

#include "zero/Runtime/Kernels/Kernel.h"

namespace zero::kernels {

/// Calls `body(begin, end)` over ranges that cover [0, items). Allocates nothing: `body` lives on the
/// caller's stack.
template <typename Body> void parallelFor(ParallelFor &parallel, int64_t items, Body &&body) {
  if (items <= 0)
    return;
  parallel.run(
      items, [](void *context, int64_t begin, int64_t end) { (*static_cast<Body *>(context))(begin, end); },
      &body);
}

} // namespace zero::kernels

#endif
