//===- ByteSource.h - Bytes that are read piece by piece ------------------===//
#ifndef ZERO_LIB_RUNTIME_DATA_BYTESOURCE_H
#define ZERO_LIB_RUNTIME_DATA_BYTESOURCE_H

#include "zero/Runtime/Base/Status.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace zero {

/// Reading can fail at any time: a file may change while it is checked.
class ByteSource {
public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  /// BadInput where the range is not there, or no longer what it was.
  virtual Status read(uint64_t offset, void *target, uint64_t size) const = 0;

  /// Up to `most` bytes from `offset` on: fewer at the end.
  Expected<std::string> piece(uint64_t offset, uint64_t most) const {
    std::string bytes(offset < size() ? std::min(most, size() - offset) : 0, '\0');
    ZERO_RETURN_IF_ERROR(read(offset, bytes.data(), bytes.size()));
    return bytes;
  }

  /// Calls `take(bytes, place)` for [offset, offset + size) in pieces, whose places from `offset` are multiples of 64.
  template <typename Take> Status forEachPiece(uint64_t offset, uint64_t size, Take take) const {
    constexpr uint64_t kPieceBytes = 1 << 20;
    std::string bytes;
    for (uint64_t place = 0; place < size; place += bytes.size()) {
      bytes.resize(std::min(kPieceBytes, size - place));
      ZERO_RETURN_IF_ERROR(read(offset + place, bytes.data(), bytes.size()));
      ZERO_RETURN_IF_ERROR(take(std::string_view(bytes), place));
    }
    return {};
  }
};

} // namespace zero

#endif
