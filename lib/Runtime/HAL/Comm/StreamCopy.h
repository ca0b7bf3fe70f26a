//===- StreamCopy.h - Copies that leave the caches alone ------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_STREAMCOPY_H
#define ZERO_LIB_RUNTIME_HAL_COMM_STREAMCOPY_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <emmintrin.h>

namespace zero {

/// Copies like memcpy, past the caches: the lines of the target are not read first, which is a third of the traffic of a copy to memory
/// that is not cached. Other threads see what was copied as after any write.
inline void streamCopy(void *target, const void *source, size_t size) {
  constexpr size_t kLine = 64;
  auto *to = static_cast<char *>(target);
  auto *from = static_cast<const char *>(source);
  size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  if (size < head + kLine) {
    std::memcpy(to, from, size);
    return;
  }
  std::memcpy(to, from, head);
  size_t at = head;
  for (; at + kLine <= size; at += kLine) {
    auto *words = reinterpret_cast<const __m128i *>(from + at);
    auto *lines = reinterpret_cast<__m128i *>(to + at);
    __m128i a = _mm_loadu_si128(words), b = _mm_loadu_si128(words + 1), c = _mm_loadu_si128(words + 2), d = _mm_loadu_si128(words + 3);
    _mm_stream_si128(lines, a);
    _mm_stream_si128(lines + 1, b);
    _mm_stream_si128(lines + 2, c);
    _mm_stream_si128(lines + 3, d);
  }
  std::memcpy(to + at, from + at, size - at);
  _mm_sfence();
}

} // namespace zero

#endif
