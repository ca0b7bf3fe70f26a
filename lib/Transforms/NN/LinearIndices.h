//===- LinearIndices.h - Index tuples as row-major indices ----------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_LINEARINDICES_H
#define ZERO_LIB_TRANSFORMS_NN_LINEARINDICES_H

#include "dialects/NN/NNOps.h"

namespace zero {

/// A gather along the indexed dimensions of the data as one: the same value, with a gradient and a kernel. An
/// index outside its dimension becomes -1, which is outside the whole.
mlir::Value gatherByLinearIndex(mlir::OpBuilder &builder, nn::GatherNDOp op);

} // namespace zero

#endif
