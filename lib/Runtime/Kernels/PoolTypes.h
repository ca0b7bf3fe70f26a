//===- PoolTypes.h - What the pooling loops of each variant take ----------===//
//
// Included by files that are compiled for one instruction set: nothing here may pull in inline functions of
// the standard library (the linker would keep one copy, perhaps the one this CPU cannot run).
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_POOLTYPES_H
#define ZERO_LIB_RUNTIME_KERNELS_POOLTYPES_H

#include <stdint.h>

namespace zero::kernels {

/// Pooling over planes of three spatial dimensions (of size and window 1 where there are fewer).
struct PoolArguments {
  int64_t spatial[3], window[3], strides[3], low[3], dilations[3], positions[3];
  const void *data = nullptr;
  void *out = nullptr;
  int64_t *indices = nullptr;

  int64_t getPlaneSize() const { return spatial[0] * spatial[1] * spatial[2]; }
  int64_t getPlanePositions() const { return positions[0] * positions[1] * positions[2]; }
};

/// Pools planes [begin, end).
using PoolRange = void(const PoolArguments &arguments, int64_t begin, int64_t end);
/// The loops for an element type (Element.h); null where there are none.
PoolRange *maxPoolV3(int64_t element), *maxPoolV4(int64_t element);
PoolRange *sumPoolV3(int64_t element), *sumPoolV4(int64_t element);

} // namespace zero::kernels

#endif
