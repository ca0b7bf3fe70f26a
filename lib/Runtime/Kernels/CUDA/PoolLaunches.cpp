//===- PoolLaunches.cpp - max_pool and sum_pool ---------------------------===//
#include "lib/Runtime/Kernels/CUDA/LaunchText.h"
#include "lib/Runtime/Kernels/Element.h"
#include <array>

using namespace zero;
using namespace zero::kernels;

namespace {

using Three = std::array<int64_t, 3>;

/// Whether every window has a position inside the data along dimension i.
bool reachesData(const Three &spatial, const Three &window, const Three &strides, const Three &low, const Three &dilations,
                 const Three &positions, size_t i) {
  for (int64_t o = 0; o < positions[i]; ++o) {
    int64_t start = o * strides[i] - low[i];
    int64_t first = start >= 0 ? start : start + (-start + dilations[i] - 1) / dilations[i] * dilations[i];
    if (first > start + dilations[i] * (window[i] - 1) || first >= spatial[i])
      return false;
  }
  return true;
}

Launches pool(const char *name, Parameters &parameters, bool hasIndices) {
  int64_t element = parameters.next(), planes = parameters.size("planes"), rank = parameters.next();
  bool isFloat = element == static_cast<int64_t>(Element::F32) || element == static_cast<int64_t>(Element::F64);
  bool isInteger = element >= static_cast<int64_t>(Element::I64) && element <= static_cast<int64_t>(Element::I1);
  if (!isFloat && !(hasIndices && isInteger))
    parameters.fail("element type " + std::string(elementName(element)) + " is not supported, must be " +
                    (hasIndices ? "an integer, f32 or f64" : "f32 or f64"));
  if (rank < 1 || rank > 3)
    parameters.fail("rank is " + std::to_string(rank) + ", outside [1, 3]");
  Three spatial, window, strides, low, high, dilations, positions;
  struct {
    const char *what;
    Three *values;
    int64_t otherwise;
    bool positive, padding;
  } lists[] = {{"spatial size", &spatial, 1, false, false}, {"window", &window, 1, true, false}, {"stride", &strides, 1, true, false},
               {"low", &low, 0, false, true},               {"high", &high, 0, false, true},     {"dilation", &dilations, 1, true, false}};
  for (auto &list : lists)
    for (size_t i = 0; i < 3; ++i) {
      if (static_cast<int64_t>(i) < 3 - rank) {
        (*list.values)[i] = list.otherwise;
        continue;
      }
      // Sums may leave out elements at the borders.
      int64_t value = list.padding && !hasIndices ? parameters.next() : parameters.size(list.what);
      if (list.positive && value < 1)
        parameters.fail(std::string(list.what) + " is " + std::to_string(value) + ", must be at least 1");
      (*list.values)[i] = value;
    }
  ZERO_RETURN_IF_ERROR(parameters.finish());
  int64_t results = planes;
  for (size_t i = 0; i < 3; ++i) {
    int64_t room = low[i] + spatial[i] + high[i] - dilations[i] * (window[i] - 1);
    positions[i] = room < 1 ? 0 : (room - 1) / strides[i] + 1;
    results *= positions[i];
    if (hasIndices && !reachesData(spatial, window, strides, low, dilations, positions, i))
      return Status::badInput("kernel '" + std::string(name) + "': a window lies outside the data");
  }
  if (results == 0)
    return std::vector<CudaLaunch>();
  std::string type = cudaType(element);
  LaunchText text{name, {"Pool.cuh"}, {{"const " + type, 0}, {type, 1}}};
  if (hasIndices)
    text.pointers.push_back({"i64", 2});
  ShapeText shape;
  shape.add("kPlanes", planes);
  const struct {
    const char *name;
    const Three &values;
  } constants[] = {{"kSpatial", spatial}, {"kWindow", window},       {"kStride", strides},
                   {"kLow", low},         {"kDilation", dilations}, {"kPositions", positions}};
  for (const auto &constant : constants)
    for (size_t i = 0; i < 3; ++i)
      shape.add((constant.name + std::to_string(i)).c_str(), constant.values[i]);
  text.declarations = shape.finish();
  text.blocks = loopBlocks(static_cast<uint64_t>(results));
  text.body = hasIndices ? "zero::maxPool<" + type + ", Shape>(p0, p1, p2);" : "zero::sumPool<" + type + ", Shape>(p0, p1);";
  return std::vector<CudaLaunch>{text.finish()};
}

} // namespace

Launches kernels::planMaxPool(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  return pool("max_pool", parameters, true);
}
Launches kernels::planSumPool(Parameters &parameters, std::span<const double>, const CudaOptions &) {
  return pool("sum_pool", parameters, false);
}
