//===- LargePages.cpp - Memory whose pages are mapped two megabytes at a time ===//
#include "lib/Runtime/HAL/CPU/LargePages.h"
#include <cstddef>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE // of headers before Linux 6.1
#define MADV_COLLAPSE 25
#endif

namespace zero {

void *mapAtLargePage(uint64_t size) {
  constexpr uint64_t kPage = 4096;
  size = (size + kPage - 1) / kPage * kPage;
  void *mapped = ::mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  uint64_t skipped = (kLargePage - reinterpret_cast<uintptr_t>(mapped) % kLargePage) % kLargePage;
  char *base = static_cast<char *>(mapped) + skipped;
  if (skipped)
    ::munmap(mapped, skipped);
  ::munmap(base + size, kLargePage - skipped);
  return base;
}

bool takeLargePages(void *base, uint64_t size) {
  // The system's setting for shared memory is off by default; a process that asks for its own memory gets them all the same. It wants to see
  // a page of each.
  uint64_t whole = size / kLargePage * kLargePage;
  for (uint64_t offset = 0; offset < whole; offset += kLargePage)
    static_cast<volatile std::byte *>(base)[offset] = std::byte(0);
  return whole == 0 || ::madvise(base, whole, MADV_COLLAPSE) == 0;
}

} // namespace zero
