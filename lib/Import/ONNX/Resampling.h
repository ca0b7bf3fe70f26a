//===- Resampling.h - Which elements a resized dimension reads, and with what weights ---===//
#ifndef ZERO_LIB_IMPORT_ONNX_RESAMPLING_H
#define ZERO_LIB_IMPORT_ONNX_RESAMPLING_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace zero::onnx_import {

enum class Interpolation { Nearest, Linear, Cubic };
enum class Coordinates {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfHalfPixelForNearest,
  TfCropAndResize
};
enum class NearestRounding { PreferFloor, PreferCeil, Floor, Ceil };

/// How one dimension is resized.
struct Resampling {
  Interpolation interpolation = Interpolation::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  NearestRounding rounding = NearestRounding::PreferFloor;
  bool excludeOutside = false, antialias = false;
  double cubicA = -0.75;
  int64_t from = 0, to = 0;
  double scale = 1, cropBegin = 0, cropEnd = 1;
};

/// Position o of the result is the sum over taps t of weights[t][o] * element indices[t][o], or the
/// extrapolation value where `outside` says so.
struct Taps {
  llvm::SmallVector<llvm::SmallVector<int64_t>> indices;
  llvm::SmallVector<llvm::SmallVector<double>> weights;
  llvm::SmallVector<bool> outside;
};

/// Indices are inside the dimension; taps without any weight are left out. One tap of weight 1 for nearest.
Taps computeTaps(const Resampling &resampling);

} // namespace zero::onnx_import

#endif
