//===- MarkKernel.h - What a stream tells the host: what both sides say ---===//
//
// Standard library only: the compiler includes this to put the kernel into programs whose streams tell what they have come to. Its text is
// lib/Runtime/Kernels/CUDA/Mark.cuh.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_MARKKERNEL_H
#define ZERO_RUNTIME_HAL_MARKKERNEL_H

#include <cstdint>

namespace zero {

/// A mark that a stream has passed, in memory of the host. Mark number n of a stream lies in slot n % kMarkSlots.
struct MarkSlot {
  uint64_t number; ///< from 1; written last. 0: none, or being written
  uint64_t what;
  uint64_t nanoseconds; ///< of the device's clock
  uint64_t padding;
};
inline constexpr uint64_t kMarkSlots = 16384;

/// One thread, with parameters (number of the stream's last mark, slots, number of slots, what).
inline constexpr const char *kMarkSymbol = "zero_mark";
inline constexpr const char *kMarkText = "Mark.cuh";

} // namespace zero

#endif
