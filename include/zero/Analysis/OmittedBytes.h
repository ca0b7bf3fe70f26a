//===- OmittedBytes.h - Zeros that need not be sent, as far as a plan shows -===//
#ifndef ZERO_ANALYSIS_OMITTEDBYTES_H
#define ZERO_ANALYSIS_OMITTEDBYTES_H

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace zero {

/// How many of the bytes that a rank sends in a collective are zeros that its messages leave out (lib/Runtime/HAL/Comm/SparseMessage.h), whatever the
/// data: in what scatter_add gives no more rows are touched than it has indices, and in the ordered sum of N ranks not more than N times as many.
/// Collectives of which that says nothing are not in the map. Zeros that depend on data (of other kernels, of indices that repeat) are not counted.
llvm::DenseMap<mlir::Operation *, int64_t> countOmittedBytes(mlir::ModuleOp module);

} // namespace zero

#endif
