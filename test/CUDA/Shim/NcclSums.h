//===- NcclSums.h - Sums in the order of a ring ---------------------------===//
#ifndef ZERO_TEST_CUDA_SHIM_NCCLSUMS_H
#define ZERO_TEST_CUDA_SHIM_NCCLSUMS_H

#include <cstddef>
#include <cstdint>
#include <nccl.h>
#include <span>

namespace zero::shim {

/// Bytes of an element; 0 of a type that is not simulated.
uint64_t ncclSizeOf(ncclDataType_t type);

/// target[i] = the sum of contributions[r][i] over all ranks as a ring that ends at `owner` gives it: its successor's number first,
/// each partial sum rounded to the type. From three ranks on this is another order than that of the ranks, and in 16 bits other roundings:
/// so whoever takes NCCL's sums where rank order was promised is found out. `target` may be one of the contributions.
void addAsRing(std::span<const std::byte *const> contributions, unsigned owner, ncclDataType_t type, std::byte *target, uint64_t elements);

} // namespace zero::shim

#endif
