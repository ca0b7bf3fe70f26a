//===- LargePages.h - Memory whose pages are mapped two megabytes at a time ===//
#ifndef ZERO_LIB_RUNTIME_HAL_CPU_LARGEPAGES_H
#define ZERO_LIB_RUNTIME_HAL_CPU_LARGEPAGES_H

#include <cstdint>

namespace zero {

/// Bytes of a large page, and a multiple of where it starts, on machines that can run kernels (x86-64).
inline constexpr uint64_t kLargePage = 2 << 20;

/// `size` private bytes at a multiple of a large page's, to be unmapped by munmap; null and errno where there are none.
void *mapAtLargePage(uint64_t size);

/// Puts large pages behind the whole ones among `size` bytes at `base`, which starts where one does: memory of a file in memory, where no
/// pages are yet. False where the system has none (before Linux 6.1, or no room): then some of the pages may be large.
bool takeLargePages(void *base, uint64_t size);

} // namespace zero

#endif
