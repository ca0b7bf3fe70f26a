//===- NumpyType.cpp - Element types as NumPy spells them -----------------===//
#include "lib/Runtime/Data/NumpyType.h"

namespace zero {

NumpyType numpyType(schema::ElementType type) {
  switch (type) {
  case schema::ElementType::f32:
    return {"<f4", "float32"};
  case schema::ElementType::f64:
    return {"<f8", "float64"};
  case schema::ElementType::f16:
    return {"<f2", "float16"};
  case schema::ElementType::bf16:
    return {"<V2", "bfloat16"};
  case schema::ElementType::i64:
    return {"<i8", "int64"};
  case schema::ElementType::i32:
    return {"<i4", "int32"};
  case schema::ElementType::i16:
    return {"<i2", "int16"};
  case schema::ElementType::i8:
    return {"|i1", "int8"};
  case schema::ElementType::u8:
    return {"|u1", "uint8"};
  case schema::ElementType::i1:
    return {"|b1", "bool"};
  case schema::ElementType::u16:
    return {"<u2", "uint16"};
  case schema::ElementType::u32:
    return {"<u4", "uint32"};
  case schema::ElementType::u64:
    return {"<u8", "uint64"};
  }
  return {"", "unknown"};
}

bool isNumpyCodeOf(const std::string &code, schema::ElementType type) {
  return code == numpyType(type).code || (type == schema::ElementType::bf16 && code == "|V2");
}

std::string nameOfNumpyCode(const std::string &code) {
  for (int i = 0; i <= static_cast<int>(schema::ElementType::MAX); ++i)
    if (auto type = static_cast<schema::ElementType>(i); isNumpyCodeOf(code, type))
      return numpyType(type).name;
  return "'" + code + "'";
}

} // namespace zero
