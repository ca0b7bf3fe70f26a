//===- InitialValues.cpp - The elements of #nn.initial --------------------===//
//
// A counter-based generator (splitmix64 of seed and index): element i is a function of seed and i, so files are
// written in pieces and in any order with the same bits.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace zero::nn;

/// 53 bits that depend on the seed and the counter alone, as a number in (0, 1).
static double uniformNumber(uint64_t seed, uint64_t counter) {
  uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
}

static double element(InitialKind kind, double number, uint64_t seed, uint64_t index) {
  switch (kind) {
  case InitialKind::constant:
    return number;
  case InitialKind::uniform:
    return number * (2 * uniformNumber(seed, index) - 1);
  case InitialKind::normal: // Box and Muller (1958)
    return number * std::sqrt(-2 * std::log(uniformNumber(seed, 2 * index))) *
           std::cos(2 * llvm::numbers::pi * uniformNumber(seed, 2 * index + 1));
  }
  return 0;
}

void InitialAttr::fill(uint64_t first, MutableArrayRef<char> bytes) const {
  auto floats = cast<FloatType>(getElement());
  const size_t width = floats.getWidth() / 8;
  double number = getNumber().getValueAsDouble();
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    double value = element(getKind(), number, getSeed(), first + at / width);
    if (floats.isF32()) { // the usual type, without the detour
      float narrow = static_cast<float>(value);
      memcpy(bytes.data() + at, &narrow, width);
      continue;
    }
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(floats.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    uint64_t bits = rounded.bitcastToAPInt().getZExtValue(); // hosts are little-endian
    memcpy(bytes.data() + at, &bits, width);
  }
}

LogicalResult InitialAttr::verify(function_ref<InFlightDiagnostic()> emitError, InitialKind kind, FloatAttr number,
                                  uint64_t, Type element) {
  if (!isa<FloatType>(element))
    return emitError() << "starting values are floats, not " << element;
  if (!number.getType().isF64())
    return emitError() << "starting values have a number of type " << number.getType() << ", not f64";
  if (kind != InitialKind::constant && !(number.getValueAsDouble() >= 0 && std::isfinite(number.getValueAsDouble())))
    return emitError() << "starting values have the spread " << number.getValueAsDouble();
  return success();
}
