//===- OrderedSum.h - Sums of all ranks' contributions, in rank order -----===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_ORDEREDSUM_H
#define ZERO_LIB_RUNTIME_HAL_COMM_ORDEREDSUM_H

#include "zero/Runtime/HAL/Channel.h"

namespace zero {

/// target[i] = c[0][i] + c[1][i] + ..., in that order, where c[r] starts `offset` elements into contributions[r]. Floats of
/// `element` are added in float32 and the sum is rounded once, to `targetElement`. `target` may be one of the contributions
/// where both are the same.
void sumInRankOrder(const void *const *contributions, uint64_t offset, unsigned ranks, FloatType element, void *target,
                    FloatType targetElement, uint64_t elements);

/// The same of integers, which wrap.
void sumInRankOrder(const void *const *contributions, unsigned ranks, int64_t *target, uint64_t elements);

} // namespace zero

#endif
