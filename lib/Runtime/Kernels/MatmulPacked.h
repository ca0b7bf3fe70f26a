//===- MatmulPacked.h - Products of f32 matrices by packed blocks ---------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_MATMULPACKED_H
#define ZERO_LIB_RUNTIME_KERNELS_MATMULPACKED_H

#include "zero/Runtime/Kernels/Kernel.h"
#include "zero/Runtime/Kernels/MatmulShape.h"

namespace zero::kernels {

/// `rows` times `columns` numbers of one matrix of the batch, from where the three pointers stand. `space`: a part of the workspace that
/// MatmulPlan plans. Each number is a sum, in order, of sums of MatmulPlan::kPackedTerms terms, with fused multiply-adds, whatever block it
/// lies in.
void multiplyPackedV3(const MatmulShape &shape, const float *lhs, const float *rhs, float *out, int64_t rows, int64_t columns, float *space);

Expected<std::unique_ptr<Kernel>> makePackedMatmul(const MatmulShape &shape);

} // namespace zero::kernels

#endif
