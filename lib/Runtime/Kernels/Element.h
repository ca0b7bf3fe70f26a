//===- Element.h - Element types as the plan numbers them -----------------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_ELEMENT_H
#define ZERO_LIB_RUNTIME_KERNELS_ELEMENT_H

#include <cstdint>

namespace zero::kernels {

/// ElementType of lib/Container/plan.fbs.
enum class Element : int64_t { F32 = 0, F64, F16, BF16, I64, I32, I16, I8, U8, I1, U16, U32, U64 };

/// Bytes of one element, or 0 where the number names none.
inline int64_t elementBytes(int64_t element) {
  constexpr int64_t bytes[] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1, 2, 4, 8};
  return element >= 0 && element < 13 ? bytes[element] : 0;
}

/// The name as IR spells it, for messages.
inline const char *elementName(int64_t element) {
  constexpr const char *names[] = {"f32", "f64", "f16", "bf16", "i64", "i32", "i16",
                                   "i8",  "u8",  "i1",  "u16",  "u32", "u64"};
  return element >= 0 && element < 13 ? names[element] : "unknown";
}

} // namespace zero::kernels

#endif
