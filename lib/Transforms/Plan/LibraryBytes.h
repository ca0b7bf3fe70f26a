//===- LibraryBytes.h - How far kernels of the library reach --------------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_LIBRARYBYTES_H
#define ZERO_LIB_TRANSFORMS_PLAN_LIBRARYBYTES_H

#include "dialects/Plan/PlanOps.h"

namespace zero {

struct LibraryBytes {
  std::vector<uint64_t> operands; ///< of each read and write but the workspace
  uint64_t workspace;             ///< of the last write, on the module's target; 0: it has none
};

/// Of a dispatch of a kernel of the library; nothing where there is no such kernel or its integers are too few.
std::optional<LibraryBytes> getLibraryBytes(plan::DispatchOp dispatch);

} // namespace zero

#endif
