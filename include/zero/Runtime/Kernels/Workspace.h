//===- Workspace.h - Scratch bytes of kernels: arithmetic both sides use --===//
//
// Standard library only: the compiler includes this to plan what the runtime then uses.
//
// Attention runs over independent items (batch x head); a workspace holds a part for each of at most
// kAttentionParts ranges of items, so that as many threads may run at once. The number of parts changes no
// bit of the result, and a function of shapes alone keeps the planned bytes the same for any number of
// threads.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_WORKSPACE_H
#define ZERO_RUNTIME_KERNELS_WORKSPACE_H

#include "zero/Runtime/Kernels/AttentionSizes.h"
#include "zero/Runtime/Kernels/ConvolutionSizes.h"
#include "zero/Runtime/Kernels/MatmulSizes.h"
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace zero {

/// Floats of one part of `attention`'s workspace: queries and accumulators of the rows, a transposed key
/// block, a value block, a block of scores, and two numbers a row.
inline int64_t attentionPartFloats(int64_t queries, int64_t headSize) {
  int64_t rows = std::min(kAttentionRows, roundUpToLine(queries)), width = roundUpToLine(headSize);
  return 2 * rows * width + 2 * kAttentionBlock * width + kAttentionTileRows * kAttentionBlock + 2 * rows;
}

/// Floats of one part of `attention_grad`'s workspace: five blocks of keys, three of queries, two of scores,
/// and a number a row, with a mask two. Of 16 bits also the gradients that are still sums: of queries, and of keys and values
/// where several heads share them.
inline int64_t attentionGradPartFloats(int64_t element, int64_t queries, int64_t keys, int64_t heads, int64_t groups,
                                       int64_t headSize, bool hasMask) {
  int64_t width = roundUpToLine(headSize), isNarrow = element != 0;
  return (5 * kAttentionBlock + 3 * kAttentionTileRows) * width + 2 * kAttentionTileRows * kAttentionBlock +
         (hasMask ? 2 : 1) * roundUpToLine(queries) + isNarrow * (queries + (heads > groups ? 2 * keys : 0)) * width;
}

/// Bytes that the kernel `name` with `integers` (KernelTable.inc) needs as its last write on the CPU, whatever its instruction set; 0
/// where it takes none. No other code decides whether a kernel has a workspace.
inline int64_t kernelWorkspaceBytes(std::string_view name, std::span<const int64_t> integers) {
  if (name == "matmul")
    return matmulWorkspaceBytes(integers);
  if (name == "conv" || name == "conv_transpose" || name == "conv_weight_grad") {
    using enum ConvolutionResult;
    ConvolutionShape shape = ConvolutionShape::fromIntegers(integers);
    constexpr int64_t kF32 = 0; // the others are computed in place; so are results that are all zeros
    if (shape.element != kF32 || shape.positions.empty() || shape.groups < 1 || shape.dataElements() == 0 || shape.outElements() == 0 || shape.kernelElements() == 0)
      return 0;
    return 4 * ConvolutionPlan(shape, name == "conv" ? Out : name == "conv_transpose" ? Data : Kernel).workspaceFloats;
  }
  if (integers.size() <= 8 || (name != "attention" && name != "attention_grad"))
    return 0;
  int64_t batch = integers[1], queries = integers[2], heads = integers[4], groups = integers[5],
          headSize = integers[6];
  if (name == "attention")
    return 4 * std::min(kAttentionParts, batch * heads) * attentionPartFloats(queries, headSize);
  return 4 * std::min(kAttentionParts, batch * groups) *
         attentionGradPartFloats(integers[0], queries, integers[3], heads, groups, headSize, integers[8] != 0);
}

} // namespace zero

#endif
