//===- Resampling.cpp - Which elements a resized dimension reads, and with what weights ---===//
#include "Resampling.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace zero::onnx_import;

/// The place in the dimension that position `o` of the result stands for.
static double findPlace(const Resampling &r, int64_t o) {
  double x = static_cast<double>(o), from = static_cast<double>(r.from);
  double length = r.scale * from; // what the scale makes of it, before it is cut to whole elements
  switch (r.coordinates) {
  case Coordinates::HalfPixel:
    return (x + 0.5) / r.scale - 0.5;
  case Coordinates::HalfPixelSymmetric:
    return from / 2 * (1 - static_cast<double>(r.to) / length) + (x + 0.5) / r.scale - 0.5;
  case Coordinates::PytorchHalfPixel:
    return r.to > 1 ? (x + 0.5) / r.scale - 0.5 : 0;
  case Coordinates::AlignCorners:
    return length == 1 ? 0 : x * (from - 1) / (length - 1);
  case Coordinates::Asymmetric:
    return x / r.scale;
  case Coordinates::TfHalfPixelForNearest:
    return (x + 0.5) / r.scale;
  case Coordinates::TfCropAndResize:
    if (length == 1)
      return 0.5 * (r.cropBegin + r.cropEnd) * (from - 1);
    return r.cropBegin * (from - 1) + x * (r.cropEnd - r.cropBegin) * (from - 1) / (length - 1);
  }
  return 0;
}

static double roundToElement(NearestRounding rounding, double place) {
  double floor = std::floor(place);
  switch (rounding) {
  case NearestRounding::PreferFloor:
    return place - floor <= 0.5 ? floor : floor + 1;
  case NearestRounding::PreferCeil:
    return place - floor < 0.5 ? floor : floor + 1;
  case NearestRounding::Floor:
    return floor;
  case NearestRounding::Ceil:
    return std::ceil(place);
  }
  return floor;
}

/// The weight of an element at this distance.
static double weigh(const Resampling &r, double distance) {
  double d = std::abs(distance), a = r.cubicA;
  if (r.interpolation == Interpolation::Linear)
    return std::max(1 - d, 0.0);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void computeNearest(const Resampling &r, Taps &taps) {
  taps.indices.resize(1);
  taps.weights.resize(1);
  for (int64_t o = 0; o < r.to; ++o) {
    double element = roundToElement(r.rounding, findPlace(r, o));
    taps.indices[0].push_back(
        static_cast<int64_t>(std::clamp(element, 0.0, static_cast<double>(r.from - 1))));
    taps.weights[0].push_back(1);
  }
}

Taps zero::onnx_import::computeTaps(const Resampling &r) {
  Taps taps;
  for (int64_t o = 0; o < r.to; ++o) {
    double place = findPlace(r, o);
    taps.outside.push_back(r.coordinates == Coordinates::TfCropAndResize &&
                           (place < 0 || place > static_cast<double>(r.from - 1)));
  }
  if (r.interpolation == Interpolation::Nearest) {
    computeNearest(r, taps);
    return taps;
  }
  // Antialiasing widens the filter by as much as the dimension shrinks.
  double shrink = r.antialias ? std::min(r.scale, 1.0) : 1;
  double support = r.interpolation == Interpolation::Linear ? 1 : 2;
  auto first = static_cast<int64_t>(std::floor(-support / shrink) + 1);
  int64_t count = 2 - 2 * first;
  taps.indices.resize(count);
  taps.weights.resize(count);
  for (int64_t o = 0; o < r.to; ++o) {
    double place = std::clamp(findPlace(r, o), -1.0, static_cast<double>(r.from));
    double base = std::floor(place), sum = 0;
    llvm::SmallVector<double> weights;
    for (int64_t t = 0; t < count; ++t) {
      double element = base + static_cast<double>(first + t);
      bool isOutside = element < 0 || element >= static_cast<double>(r.from);
      double weight = weigh(r, (element - place) * shrink);
      weights.push_back(isOutside && r.excludeOutside ? 0 : weight);
      sum += weights.back();
      taps.indices[t].push_back(
          static_cast<int64_t>(std::clamp(element, 0.0, static_cast<double>(r.from - 1))));
    }
    bool normalize = (r.antialias || r.excludeOutside) && sum != 0;
    for (int64_t t = 0; t < count; ++t)
      taps.weights[t].push_back(normalize ? weights[t] / sum : weights[t]);
  }
  for (int64_t t = count; t-- > 0;)
    if (llvm::all_of(taps.weights[t], [](double weight) { return weight == 0; })) {
      taps.indices.erase(taps.indices.begin() + t);
      taps.weights.erase(taps.weights.begin() + t);
    }
  return taps;
}
