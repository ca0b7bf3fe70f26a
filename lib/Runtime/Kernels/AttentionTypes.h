//===- AttentionTypes.h - What the attention loops of each variant take ---===//
//
// Included by files that are compiled for one instruction set: nothing here may pull in inline functions of
// the standard library (the linker would keep one copy, perhaps the one this CPU cannot run).
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ATTENTIONTYPES_H
#define ZERO_LIB_RUNTIME_KERNELS_ATTENTIONTYPES_H

#include <stdint.h>

namespace zero::kernels {

/// Floats of 16 bits in memory.
struct BFloat16Bits {
  uint16_t bits;
};
struct Float16Bits {
  uint16_t bits;
};

/// A tensor batch x position x head x D whose last dimension is dense.
struct HeadView {
  void *data = nullptr;
  int64_t batch = 0, position = 0, head = 0; // strides in elements

  template <typename T> T *at(int64_t b, int64_t p, int64_t h) const {
    return static_cast<T *>(data) + b * batch + p * position + h * head;
  }
};

struct AttentionArguments {
  int64_t batch, queries, keys, heads, groups, headSize;
  bool causal;
  int64_t maskBatch, maskHeads; // 1, or the whole dimension
  float scale;
  HeadView query, key, value, out, outGradient, queryGradient, keyGradient, valueGradient;
  const void *mask = nullptr;
  float *logSumExp = nullptr;
};

/// Runs items [begin, end) of batch x heads (forward) or batch x groups (backward) in one part of the
/// workspace.
using AttentionRange = void(const AttentionArguments &arguments, int64_t begin, int64_t end,
                            float *workspace);

/// The ranges of one instruction set for each type of element: f32, f16, bf16.
struct AttentionRanges {
  AttentionRange *forward[3], *backward[3];
};
extern const AttentionRanges attentionV3, attentionV4;
/// Of bf16 alone, for CPUs that multiply it.
extern const AttentionRanges attentionBf16;

} // namespace zero::kernels

#endif
