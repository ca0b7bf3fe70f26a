//===- Pool.cpp - max_pool and sum_pool -----------------------------------===//
//
// Parameters, pointers and the split over threads; the loops stand in PoolLoops.inc, once per instruction
// set.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include "lib/Runtime/Kernels/PoolTypes.h"

using namespace zero;
using namespace zero::kernels;

namespace {

class Pool : public Kernel {
public:
  Pool(const PoolArguments &arguments, int64_t planes, PoolRange *range, bool hasIndices)
      : arguments(arguments), planes(planes), range(range), hasIndices(hasIndices) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    PoolArguments x = arguments;
    x.data = pointers[0];
    x.out = pointers[1];
    x.indices = hasIndices ? static_cast<int64_t *>(pointers[2]) : nullptr;
    parallelFor(parallel, planes, [&](int64_t begin, int64_t end) { range(x, begin, end); });
    return {};
  }

private:
  PoolArguments arguments;
  int64_t planes;
  PoolRange *range;
  bool hasIndices;
};

/// Whether every window has a position inside the data along dimension i.
bool reachesData(const PoolArguments &x, int i) {
  for (int64_t o = 0; o < x.positions[i]; ++o) {
    int64_t start = o * x.strides[i] - x.low[i];
    int64_t first = start >= 0 ? start : start + (-start + x.dilations[i] - 1) / x.dilations[i] * x.dilations[i];
    if (first > start + x.dilations[i] * (x.window[i] - 1) || first >= x.spatial[i])
      return false;
  }
  return true;
}

Expected<std::unique_ptr<Kernel>> make(const char *name, std::span<const int64_t> integers,
                                       PoolRange *(*loops)(int64_t element), const char *elements,
                                       bool hasIndices) {
  Parameters parameters(name, integers);
  int64_t element = parameters.next(), planes = parameters.size("planes"), rank = parameters.next();
  PoolRange *range = loops(element);
  if (!range)
    parameters.fail("element type " + std::string(elementName(element)) + " is not supported, must be " +
                    elements);
  if (rank < 1 || rank > 3)
    parameters.fail("rank is " + std::to_string(rank) + ", outside [1, 3]");
  PoolArguments x;
  int64_t high[3];
  struct {
    const char *what;
    int64_t *values, otherwise;
    bool positive, padding;
  } lists[] = {{"spatial size", x.spatial, 1, false, false}, {"window", x.window, 1, true, false},
               {"stride", x.strides, 1, true, false},        {"low", x.low, 0, false, true},
               {"high", high, 0, false, true},               {"dilation", x.dilations, 1, true, false}};
  for (auto &list : lists)
    for (int64_t i = 0; i < 3; ++i) {
      if (i < 3 - rank) {
        list.values[i] = list.otherwise;
        continue;
      }
      // Sums may leave out elements at the borders.
      list.values[i] = list.padding && !hasIndices ? parameters.next() : parameters.size(list.what);
      if (list.positive && list.values[i] < 1)
        parameters.fail(std::string(list.what) + " is " + std::to_string(list.values[i]) +
                        ", must be at least 1");
    }
  ZERO_RETURN_IF_ERROR(parameters.finish());
  for (int i = 0; i < 3; ++i) {
    int64_t room = x.low[i] + x.spatial[i] + high[i] - x.dilations[i] * (x.window[i] - 1);
    x.positions[i] = room < 1 ? 0 : (room - 1) / x.strides[i] + 1;
    if (hasIndices && !reachesData(x, i))
      return Status::badInput("kernel '" + std::string(name) + "': a window lies outside the data");
  }
  // The loops keep places within a plane in 32 bits.
  if (hasIndices && x.spatial[0] * x.spatial[1] * x.spatial[2] > INT32_MAX)
    return Status::badInput("kernel '" + std::string(name) + "': a plane has " +
                            std::to_string(x.spatial[0] * x.spatial[1] * x.spatial[2]) +
                            " elements, must be at most " + std::to_string(INT32_MAX));
  return std::unique_ptr<Kernel>(std::make_unique<Pool>(x, planes, range, hasIndices));
}

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeMaxPool(std::span<const int64_t> integers,
                                                       std::span<const double>, const KernelOptions &options) {
  return make("max_pool", integers, options.variant == CpuVariant::X86_64_V4 ? maxPoolV4 : maxPoolV3,
              "an integer, f32 or f64", /*hasIndices=*/true);
}

Expected<std::unique_ptr<Kernel>> kernels::makeSumPool(std::span<const int64_t> integers,
                                                       std::span<const double>, const KernelOptions &options) {
  return make("sum_pool", integers, options.variant == CpuVariant::X86_64_V4 ? sumPoolV4 : sumPoolV3,
              "f32 or f64", /*hasIndices=*/false);
}
