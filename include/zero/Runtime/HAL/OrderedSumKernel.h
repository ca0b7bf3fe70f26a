//===- OrderedSumKernel.h - Sums in rank order on a device: what both sides say =//
//
// Standard library only: the compiler includes this to put the kernels into a program whose collectives then launch them. Their text is
// lib/Runtime/Kernels/CUDA/OrderedSum.cuh.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_HAL_ORDEREDSUMKERNEL_H
#define ZERO_RUNTIME_HAL_ORDEREDSUMKERNEL_H

#include "zero/Runtime/HAL/Channel.h"
#include <algorithm>
#include <string>

namespace zero {

inline std::string floatTypeText(FloatType type) { return type == FloatType::F32 ? "f32" : type == FloatType::F16 ? "f16" : "bf16"; }

/// The kernel that adds floats of `element` in float32 and rounds the sum once, to `target`. Its parameters:
/// (target, own contribution, contributions of the peers by rank, elements from one of those to the next, elements, rank, ranks).
inline std::string orderedSumSymbol(FloatType element, FloatType target) {
  return "zero_ordered_sum_" + floatTypeText(element) + "_" + floatTypeText(target);
}
/// The line of CUDA C++ that makes it from the text; types have the names of the prelude of generated sources.
inline std::string orderedSumInstantiation(FloatType element, FloatType target) {
  auto cudaType = [](FloatType type) { return type == FloatType::F32 ? std::string("float") : floatTypeText(type); };
  return "ZERO_ORDERED_SUM(" + orderedSumSymbol(element, target) + ", " + cudaType(element) + ", " + cudaType(target) + ")";
}

inline constexpr uint32_t kOrderedSumThreads = 256;
/// Elements that a thread adds at a time.
inline constexpr uint32_t kOrderedSumVector = 4;
/// Blocks of a launch; a thread goes on with elements that are a whole grid further.
inline uint32_t orderedSumBlocks(uint64_t elements) {
  constexpr uint64_t kMost = 1024, kPerBlock = kOrderedSumThreads * kOrderedSumVector;
  return static_cast<uint32_t>(std::clamp<uint64_t>((elements + kPerBlock - 1) / kPerBlock, 1, kMost));
}

} // namespace zero

#endif
