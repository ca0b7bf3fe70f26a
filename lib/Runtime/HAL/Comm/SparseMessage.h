//===- SparseMessage.h - Messages that leave blocks of zeros out ----------===//
//
// The gradient of an embedding table is zero but for the rows of a batch's tokens. A sparse message carries the blocks of its data that hold
// something, in their order, then what is left behind the last whole block, then one bit for each block: 1 where it was carried, the first
// block in the lowest bit. It is shorter than its data, which tells it from a message of the data as they are. Nothing is lost: what is left
// out are blocks whose bits are all 0 (-0.0 is carried).
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_SPARSEMESSAGE_H
#define ZERO_LIB_RUNTIME_HAL_COMM_SPARSEMESSAGE_H

#include "zero/Runtime/HAL/Staging.h"
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace zero {

class SparseMessage {
public:
  static constexpr uint64_t kBlockBytes = kZeroBlockBytes, kMostDataBytes = kCollectiveChunkBytes;
  using Bits = std::array<std::byte, (kMostDataBytes / kBlockBytes + 7) / 8>;
  /// Blocks beside each other that are carried.
  struct Run {
    uint64_t offset, bytes;
  };

  /// Whether it pays to send the data as a sparse message, which this then describes. Of dense data it reads a few bytes alone.
  bool describe(const std::byte *data, uint64_t dataBytes);

  /// How long the message of these data is, in either way.
  uint64_t lengthOf(const std::byte *data, uint64_t dataBytes) { return describe(data, dataBytes) ? messageBytes : dataBytes; }

  std::span<const Run> runs() const { return carried; }
  std::span<const std::byte> bits() const { return {mask.data(), maskBytes}; }
  /// Of the whole message.
  uint64_t bytes() const { return messageBytes; }

private:
  std::vector<Run> carried;
  Bits mask;
  uint64_t maskBytes = 0, messageBytes = 0;
};

/// Puts what a sparse message of `messageBytes`, received at `data`, carries in its places among zeros: `dataBytes` in all, at the same
/// address. False where those bytes are no such message; the data are then undefined.
bool expandSparseMessage(std::byte *data, uint64_t dataBytes, uint64_t messageBytes);

} // namespace zero

#endif
