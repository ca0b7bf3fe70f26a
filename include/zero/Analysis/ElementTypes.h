//===- ElementTypes.h - Element types in memory and in the container ------===//
#ifndef ZERO_ANALYSIS_ELEMENTTYPES_H
#define ZERO_ANALYSIS_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace zero {

/// Bytes of one element in memory; an i1 takes one.
int64_t getElementBytes(mlir::Type type);
/// The number of the element type in lib/Container/plan.fbs; none where the container has no such type.
std::optional<int64_t> getElementNumber(mlir::Type type);

} // namespace zero

#endif
