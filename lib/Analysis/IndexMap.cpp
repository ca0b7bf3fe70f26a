//===- IndexMap.cpp - Digits of linear indices, and how ops change them ---===//
#include "IndexMap.h"

using namespace mlir;

namespace zero {

void appendInner(IndexMap &map, IndexDigit digit) {
  if (digit.size == 1)
    return;
  if (!map.empty() && map.back().stride == digit.stride * digit.size)
    map.back() = {digit.stride, map.back().size * digit.size};
  else
    map.push_back(digit);
}

std::optional<SmallVector<IndexMap>> splitByShape(ArrayRef<IndexDigit> map, ArrayRef<int64_t> shape) {
  SmallVector<IndexMap> dims(shape.size());
  SmallVector<IndexDigit> rest(map);
  for (size_t dim = shape.size(); dim-- > 0;) {
    SmallVector<IndexDigit> digits; // innermost first
    for (int64_t need = shape[dim]; need > 1;) {
      if (rest.empty())
        return std::nullopt;
      IndexDigit &last = rest.back();
      if (last.size <= need) {
        if (need % last.size)
          return std::nullopt;
        need /= last.size;
        digits.push_back(last);
        rest.pop_back();
        continue;
      }
      if (last.size % need)
        return std::nullopt;
      digits.push_back({last.stride, need});
      last = {last.stride * need, last.size / need};
      need = 1;
    }
    for (IndexDigit digit : llvm::reverse(digits))
      appendInner(dims[dim], digit);
  }
  if (!rest.empty())
    return std::nullopt;
  return dims;
}

std::optional<std::pair<IndexMap, IndexMap>> splitAtStride(ArrayRef<IndexDigit> map, int64_t stride) {
  std::pair<IndexMap, IndexMap> parts;
  for (IndexDigit digit : map) {
    if (digit.stride >= stride) {
      if (digit.stride % stride)
        return std::nullopt;
      appendInner(parts.first, digit);
      continue;
    }
    int64_t end = digit.stride * digit.size;
    if (end <= stride) {
      appendInner(parts.second, digit);
      continue;
    }
    if (stride % digit.stride || end % stride)
      return std::nullopt;
    appendInner(parts.first, {stride, end / stride});
    appendInner(parts.second, {digit.stride, stride / digit.stride});
  }
  return parts;
}

} // namespace zero
