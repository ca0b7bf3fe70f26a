//===- WideRows.h - Rows of 16-bit floats to and from f32, at full speed --===//
//
// Included by files that are compiled for one instruction set (AttentionTypes.h says why): types alone.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_WIDEROWS_H
#define ZERO_LIB_RUNTIME_KERNELS_WIDEROWS_H

#include <stdint.h>

namespace zero::kernels {

/// `count` neighbours, with the bits of NarrowFloats.h. For any CPU that runs kernels at all (x86-64-v3).
void widenBFloat16s(const uint16_t *from, int64_t count, float *to);
void widenFloat16s(const uint16_t *from, int64_t count, float *to);
void roundToBFloat16s(const float *from, int64_t count, uint16_t *to);
void roundToFloat16s(const float *from, int64_t count, uint16_t *to);

} // namespace zero::kernels

#endif
