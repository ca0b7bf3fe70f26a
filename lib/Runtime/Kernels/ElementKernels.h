//===- ElementKernels.h - One kernel template for every element type ------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ELEMENTKERNELS_H
#define ZERO_LIB_RUNTIME_KERNELS_ELEMENTKERNELS_H

#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Narrow.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include <memory>
#include <string>
#include <type_traits>

namespace zero::kernels {

/// The kernel that make(T()) returns for the C++ type of `element`; i1 is bool. Null, for a type that `kernel`
/// has no use for, becomes an error that ends in `mustBe`.
template <typename Make>
Expected<std::unique_ptr<Kernel>> withElementType(const char *kernel, int64_t element, Make make,
                                                  const char *mustBe = "") {
  auto visit = [&]() -> std::unique_ptr<Kernel> {
    switch (static_cast<Element>(element)) {
    case Element::F32:
      return make(float());
    case Element::F64:
      return make(double());
    case Element::F16:
      return make(Float16());
    case Element::BF16:
      return make(BFloat16());
    case Element::I64:
      return make(int64_t());
    case Element::I32:
      return make(int32_t());
    case Element::I16:
      return make(int16_t());
    case Element::I8:
      return make(int8_t());
    case Element::U8:
      return make(uint8_t());
    case Element::I1:
      return make(bool());
    case Element::U16:
      return make(uint16_t());
    case Element::U32:
      return make(uint32_t());
    case Element::U64:
      return make(uint64_t());
    }
    return nullptr;
  };
  if (std::unique_ptr<Kernel> made = visit())
    return made;
  std::string name = elementBytes(element) ? elementName(element) : std::to_string(element);
  return Status::badInput("kernel '" + std::string(kernel) + "': element type " + name + " is not supported" +
                          mustBe);
}

} // namespace zero::kernels

#endif
