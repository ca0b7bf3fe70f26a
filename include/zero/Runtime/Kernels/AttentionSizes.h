//===- AttentionSizes.h - Block sizes of attention ------------------------===//
//
// Includes nothing of the standard library but integers: files compiled for one instruction set include it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_ATTENTIONSIZES_H
#define ZERO_RUNTIME_KERNELS_ATTENTIONSIZES_H

#include <stdint.h>

namespace zero {

/// Key columns of one block of scores.
inline constexpr int64_t kAttentionBlock = 64;
/// Most query rows of one block of scores.
inline constexpr int64_t kAttentionTileRows = 32;
/// Query rows that share one transposed key block in the forward kernel.
inline constexpr int64_t kAttentionRows = 256;
/// Most threads that work on one attention.
inline constexpr int64_t kAttentionParts = 8;

/// `value` rounded up to whole cache lines of float32.
constexpr int64_t roundUpToLine(int64_t value) { return (value + 15) / 16 * 16; }

} // namespace zero

#endif
