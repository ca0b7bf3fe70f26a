//===- ElementTypes.cpp - Element types in memory and in the container ----===//
#include "zero/Analysis/ElementTypes.h"

using namespace mlir;

namespace zero {

int64_t getElementBytes(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

std::optional<int64_t> getElementNumber(Type type) {
  if (type.isF32())
    return 0;
  if (type.isF64())
    return 1;
  if (type.isF16())
    return 2;
  if (type.isBF16())
    return 3;
  if (type.isSignlessInteger(64))
    return 4;
  if (type.isSignlessInteger(32))
    return 5;
  if (type.isSignlessInteger(16))
    return 6;
  if (type.isSignlessInteger(8))
    return 7;
  if (type.isUnsignedInteger(8))
    return 8;
  if (type.isSignlessInteger(1))
    return 9;
  if (type.isUnsignedInteger(16))
    return 10;
  if (type.isUnsignedInteger(32))
    return 11;
  if (type.isUnsignedInteger(64))
    return 12;
  return std::nullopt;
}

} // namespace zero
