//===- NonFiniteKernel.h - Gradients that are not finite: what both sides say ==//
//
// Standard library only: the compiler includes this to put the kernel into programs that train. Its text is
// lib/Runtime/Kernels/CUDA/NonFinite.cuh.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_NONFINITEKERNEL_H
#define ZERO_RUNTIME_HAL_NONFINITEKERNEL_H

#include <cstdint>

namespace zero {

/// Gradients of one parameter, in bytes from the start of their arena.
struct GradientRange {
  uint64_t offset, elements;
  uint64_t elementBytes; ///< 2, 4 or 8
  uint64_t exponent;     ///< bits of it in an element
};

/// Where `loss` or `norm` is not finite: sets the byte of each range to whether one of its elements is not; else does nothing. A block
/// for each range, with parameters (loss, norm, start of the arena, ranges, bytes).
inline constexpr const char *kNonFiniteSymbol = "zero_non_finite";
inline constexpr const char *kNonFiniteText = "NonFinite.cuh";
inline constexpr uint32_t kNonFiniteThreads = 256;

} // namespace zero

#endif
