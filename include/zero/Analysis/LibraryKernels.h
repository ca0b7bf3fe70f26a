//===- LibraryKernels.h - What the runtime's library can compute ----------===//
#ifndef ZERO_ANALYSIS_LIBRARYKERNELS_H
#define ZERO_ANALYSIS_LIBRARYKERNELS_H

#include "mlir/IR/Operation.h"
#include <string>

namespace zero {

/// Why no kernel of the library computes `op`, an nn op that generated code does not compute: its element
/// types. Empty where one does.
std::string whyNoLibraryKernel(mlir::Operation *op);

} // namespace zero

#endif
