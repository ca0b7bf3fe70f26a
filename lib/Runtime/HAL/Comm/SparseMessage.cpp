//===- SparseMessage.cpp - Messages that leave blocks of zeros out --------===//
#include "lib/Runtime/HAL/Comm/SparseMessage.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace zero {
namespace {

constexpr uint64_t kBlock = SparseMessage::kBlockBytes;
/// Less is not worth looking at.
constexpr uint64_t kLeastBytes = 16 * kBlock;
/// Each costs the library that sends them about as much as a few hundred bytes.
constexpr size_t kMostRuns = 256;

bool isZero(const std::byte *block) {
  uint64_t words[kBlock / 8], any = 0;
  std::memcpy(words, block, kBlock);
  for (uint64_t word : words)
    any |= word;
  return any == 0;
}

/// Whether one of a few blocks is zeros: dense data end the search here.
bool mayBeSparse(const std::byte *data, uint64_t blocks) {
  constexpr uint64_t kProbes = 4;
  for (uint64_t probe = 0; probe < kProbes; ++probe)
    if (isZero(data + (2 * probe + 1) * blocks / (2 * kProbes) * kBlock))
      return true;
  return false;
}

uint64_t maskBytesOf(uint64_t blocks) { return (blocks + 7) / 8; }

} // namespace

bool SparseMessage::describe(const std::byte *data, uint64_t dataBytes) {
  const uint64_t blocks = dataBytes / kBlock, rest = dataBytes % kBlock;
  if (dataBytes < kLeastBytes || dataBytes > kMostDataBytes || !mayBeSparse(data, blocks))
    return false;
  carried.clear();
  maskBytes = maskBytesOf(blocks);
  std::fill_n(mask.begin(), maskBytes, std::byte(0));
  messageBytes = rest + maskBytes;
  auto carry = [&](uint64_t offset, uint64_t bytes) {
    if (!carried.empty() && carried.back().offset + carried.back().bytes == offset)
      carried.back().bytes += bytes;
    else
      carried.push_back({offset, bytes});
  };
  for (uint64_t block = 0; block < blocks; ++block) {
    if (isZero(data + block * kBlock))
      continue;
    mask[block / 8] |= std::byte(1u << block % 8);
    messageBytes += kBlock;
    carry(block * kBlock, kBlock);
    if (carried.size() > kMostRuns || messageBytes > dataBytes / 4 * 3)
      return false;
  }
  if (rest)
    carry(blocks * kBlock, rest);
  return true;
}

bool expandSparseMessage(std::byte *data, uint64_t dataBytes, uint64_t messageBytes) {
  const uint64_t blocks = dataBytes / kBlock, rest = dataBytes % kBlock, maskBytes = maskBytesOf(blocks);
  SparseMessage::Bits mask;
  if (dataBytes > SparseMessage::kMostDataBytes || messageBytes >= dataBytes || messageBytes < rest + maskBytes)
    return false;
  std::memcpy(mask.data(), data + messageBytes - maskBytes, maskBytes);
  uint64_t carried = 0;
  for (uint64_t i = 0; i < maskBytes; ++i)
    carried += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(mask[i])));
  const bool hasStrayBits = blocks % 8 && static_cast<uint8_t>(mask[maskBytes - 1]) >> blocks % 8;
  if (hasStrayBits || carried * kBlock + rest + maskBytes != messageBytes)
    return false;
  // From behind: a block never moves to where one lies that has not moved yet.
  std::memmove(data + blocks * kBlock, data + carried * kBlock, rest);
  for (uint64_t block = blocks; block-- > 0;)
    if ((mask[block / 8] & std::byte(1u << block % 8)) != std::byte(0))
      std::memmove(data + block * kBlock, data + --carried * kBlock, kBlock);
    else
      std::memset(data + block * kBlock, 0, kBlock);
  return true;
}

} // namespace zero
