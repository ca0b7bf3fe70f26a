//===- MatmulShape.h - Sizes and places of a batched product --------------===//
//
// Includes nothing of the standard library but integers: files compiled for one instruction set include it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_MATMULSHAPE_H
#define ZERO_RUNTIME_KERNELS_MATMULSHAPE_H

#include <stdint.h>

namespace zero {

/// Strides count elements, `ld` between rows as stored.
struct MatmulShape {
  int64_t batch, m, n, k;
  bool transposeLhs, transposeRhs;
  int64_t lhsBatchStride, lhsLd, rhsBatchStride, rhsLd, outBatchStride, outLd;
};

} // namespace zero

#endif
