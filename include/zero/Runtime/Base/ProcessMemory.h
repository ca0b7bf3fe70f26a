//===- ProcessMemory.h - What the system holds in memory for this process -===//
#ifndef ZERO_RUNTIME_BASE_PROCESSMEMORY_H
#define ZERO_RUNTIME_BASE_PROCESSMEMORY_H

#include <cstdint>

namespace zero {

/// Bytes in memory that are this process's alone or shared with other processes through memory: RssAnon + RssShmem of
/// /proc/self/status. Pages of mapped files, which the system may drop and read again, do not count. 0 where the
/// system does not say.
uint64_t processBytes();

/// Of `size` bytes at `address`, both multiples of a page's: those that are mapped to memory in this process now, as
/// /proc/self/pagemap says; 0 where the system does not say.
uint64_t residentBytes(const void *address, uint64_t size);

/// The most bytes that were in memory for this process at once, pages of mapped files included: VmHWM.
uint64_t peakResidentBytes();

} // namespace zero

#endif
