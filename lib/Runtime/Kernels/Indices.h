//===- Indices.h - Index tensors of gather and scatter_add ----------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_INDICES_H
#define ZERO_LIB_RUNTIME_KERNELS_INDICES_H

#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Parameters.h"

namespace zero::kernels {

/// `count` indices into an axis of `axisSize`, stored as i64 or i32.
struct IndexReader {
  bool wide = true;
  int64_t axisSize = 0, count = 0;

  static IndexReader make(Parameters &parameters, int64_t element, int64_t axisSize, int64_t count) {
    if (element != static_cast<int64_t>(Element::I64) && element != static_cast<int64_t>(Element::I32))
      parameters.fail("indices are i64 or i32, got element type " + std::string(elementName(element)));
    return {element == static_cast<int64_t>(Element::I64), axisSize, count};
  }

  int64_t at(const void *data, int64_t position) const {
    return wide ? static_cast<const int64_t *>(data)[position] : static_cast<const int32_t *>(data)[position];
  }

  /// BadInput naming the first index outside [0, axisSize).
  Status check(const char *kernel, const void *data) const {
    for (int64_t i = 0; i < count; ++i)
      if (int64_t index = at(data, i); index < 0 || index >= axisSize)
        return Status::badInput(std::string(kernel) + ": index " + std::to_string(index) + " at position " +
                                std::to_string(i) + " is outside [0, " + std::to_string(axisSize) + ")");
    return {};
  }
};

} // namespace zero::kernels

#endif
