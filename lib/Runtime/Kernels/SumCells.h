//===- SumCells.h - Sums of squares of whole cells, at full speed ---------===//
//
// Included by files that are compiled for one instruction set (AttentionTypes.h says why): types alone.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_SUMCELLS_H
#define ZERO_LIB_RUNTIME_KERNELS_SUMCELLS_H

#include <stdint.h>

namespace zero::kernels {

/// Of `cells` times 64 neighbours, with the bits of cellSumOfSquares (ExactSum.h). For any CPU that runs kernels at all
/// (x86-64-v3).
void sumCellsOfFloats(const float *values, int64_t cells, double *sums);
void sumCellsOfFloat16s(const uint16_t *values, int64_t cells, double *sums);
void sumCellsOfBFloat16s(const uint16_t *values, int64_t cells, double *sums);

} // namespace zero::kernels

#endif
