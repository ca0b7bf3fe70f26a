//===- IndexMap.h - Digits of linear indices, and how ops change them -----===//
#ifndef ZERO_LIB_ANALYSIS_INDEXMAP_H
#define ZERO_LIB_ANALYSIS_INDEXMAP_H

#include "zero/Analysis/KernelShape.h"
#include <optional>

namespace zero {

/// Adds a digit inside (after) the others, merged with its neighbour where they touch; size 1 adds nothing.
void appendInner(IndexMap &map, IndexDigit digit);

/// The digits of each dimension of a tensor of `shape` whose digits together are `map`; none where a
/// dimension would end inside a digit that it does not divide.
std::optional<llvm::SmallVector<IndexMap>> splitByShape(llvm::ArrayRef<IndexDigit> map,
                                                        llvm::ArrayRef<int64_t> shape);

/// `map` cut at `stride`: the digits outside it and those inside it. None where a digit neither ends nor can
/// be cut there.
std::optional<std::pair<IndexMap, IndexMap>> splitAtStride(llvm::ArrayRef<IndexDigit> map, int64_t stride);

} // namespace zero

#endif
