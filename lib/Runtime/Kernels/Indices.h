//===- Indices.h - Index tensors of gather and the scatters ---------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_INDICES_H
#define ZERO_LIB_RUNTIME_KERNELS_INDICES_H

#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Parameters.h"

namespace zero::kernels {

/// `count` indices into an axis of `axisSize`, stored as integers of any type.
struct IndexReader {
  Element element = Element::I64;
  int64_t axisSize = 0, count = 0;

  static IndexReader make(Parameters &parameters, int64_t element, int64_t axisSize, int64_t count) {
    switch (static_cast<Element>(element)) {
    case Element::I64:
    case Element::I32:
    case Element::I16:
    case Element::I8:
    case Element::U8:
    case Element::U16:
    case Element::U32:
    case Element::U64:
      break;
    default:
      parameters.fail("indices are integers, got element type " + std::string(elementName(element)));
    }
    return {static_cast<Element>(element), axisSize, count};
  }

  /// A u64 above every i64 reads as a negative number: out of range as well.
  int64_t at(const void *data, int64_t position) const {
    switch (element) {
    case Element::I32:
      return static_cast<const int32_t *>(data)[position];
    case Element::I16:
      return static_cast<const int16_t *>(data)[position];
    case Element::I8:
      return static_cast<const int8_t *>(data)[position];
    case Element::U8:
      return static_cast<const uint8_t *>(data)[position];
    case Element::U16:
      return static_cast<const uint16_t *>(data)[position];
    case Element::U32:
      return static_cast<const uint32_t *>(data)[position];
    default:
      return static_cast<const int64_t *>(data)[position];
    }
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

/// What gather and the scatters read alike: outer x axis_size x inner elements, of which `count` indices name places of the axis.
struct IndexedAxis {
  IndexReader indices;
  int64_t outer, inner;

  static IndexedAxis read(Parameters &parameters) {
    int64_t indexElement = parameters.next();
    int64_t outer = parameters.size("outer");
    int64_t axisSize = parameters.size("axis_size");
    int64_t inner = parameters.size("inner");
    int64_t count = parameters.size("count");
    return {IndexReader::make(parameters, indexElement, axisSize, count), outer, inner};
  }
};

} // namespace zero::kernels

#endif
