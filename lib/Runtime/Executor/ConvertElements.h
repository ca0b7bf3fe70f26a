//===- ConvertElements.h - Weights in another float type ------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_CONVERTELEMENTS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_CONVERTELEMENTS_H

#include "zero/Container/PlanView.h"
#include <cstddef>

namespace zero {

/// Writes `count` elements of type `from` as type `to` (canConvert): to the nearest, ties to even; infinities stay, a NaN
/// stays one. Source and target do not overlap.
void convertElements(const std::byte *source, schema::ElementType from, std::byte *target, schema::ElementType to, uint64_t count);

} // namespace zero

#endif
