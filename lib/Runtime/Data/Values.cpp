//===- Values.cpp - Integers of data against what the model takes ---------===//
#include "lib/Runtime/Data/Values.h"
#include <cstring>

namespace zero {

std::string positionText(uint64_t index, const std::vector<uint64_t> &shape) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0;) {
    text = std::to_string(index % shape[i]) + (text.empty() ? "" : ", ") + text;
    index /= shape[i];
  }
  return "[" + text + "]";
}

template <typename T>
static Status checkAs(const schema::Input &input, std::string_view data, const std::vector<uint64_t> &shape, uint64_t first) {
  for (uint64_t i = 0; i < data.size() / sizeof(T); ++i) {
    T stored;
    std::memcpy(&stored, data.data() + i * sizeof(T), sizeof(T));
    auto value = static_cast<int64_t>(stored);
    bool isLarge = std::is_unsigned_v<T> && value < 0; // an u64 that no int64 holds
    if ((value >= 0 && value < input.limit()) || (input.has_ignore_index() && value == input.ignore_index() && !isLarge))
      continue;
    std::string ignored = input.has_ignore_index() ? " and not the ignored " + std::to_string(input.ignore_index()) : "";
    return Status::badInput("holds " + std::to_string(stored) + " at " +
                            positionText(first + i, shape) + ", outside [0, " + std::to_string(input.limit()) + ")" + ignored);
  }
  return {};
}

Status checkValues(const schema::Input &input, std::string_view data, const std::vector<uint64_t> &shape, uint64_t first) {
  if (input.limit() == 0)
    return {};
  switch (input.element()) {
  case schema::ElementType::i64:
    return checkAs<int64_t>(input, data, shape, first);
  case schema::ElementType::i32:
    return checkAs<int32_t>(input, data, shape, first);
  case schema::ElementType::i16:
    return checkAs<int16_t>(input, data, shape, first);
  case schema::ElementType::i8:
    return checkAs<int8_t>(input, data, shape, first);
  case schema::ElementType::u8:
    return checkAs<uint8_t>(input, data, shape, first);
  case schema::ElementType::u16:
    return checkAs<uint16_t>(input, data, shape, first);
  case schema::ElementType::u32:
    return checkAs<uint32_t>(input, data, shape, first);
  case schema::ElementType::u64:
    return checkAs<uint64_t>(input, data, shape, first);
  default:
    return {};
  }
}

} // namespace zero
