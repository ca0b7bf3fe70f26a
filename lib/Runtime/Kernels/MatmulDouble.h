//===- MatmulDouble.h - Products of f64 matrices --------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_MATMULDOUBLE_H
#define ZERO_LIB_RUNTIME_KERNELS_MATMULDOUBLE_H

#include "zero/Runtime/Kernels/MatmulShape.h"

namespace zero::kernels {

/// Columns that one item computes, for one matrix of the batch.
inline constexpr int64_t kDoubleColumns = 32;

inline int64_t doubleProductItems(const MatmulShape &s) {
  return s.batch * ((s.n + kDoubleColumns - 1) / kDoubleColumns);
}

/// Items [begin, end). Each element is the sum over k in order, with fused multiply-adds: both variants give
/// the same bits.
using DoubleProduct = void(const MatmulShape &shape, const double *lhs, const double *rhs, double *out,
                           int64_t begin, int64_t end);
DoubleProduct multiplyDoublesV3, multiplyDoublesV4;

} // namespace zero::kernels

#endif
