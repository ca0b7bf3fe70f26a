//===- TargetRates.cpp - How fast a rank of a target is -------------------===//
#include "zero/Analysis/TargetRates.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace zero {

const TargetRates &getTargetRates(llvm::StringRef target) {
  static const std::vector<TargetRates> table = [] {
    std::vector<TargetRates> all;
    auto add = [&](const char *target, double product, double attention, double other, double memory, double wire, double command,
                   double collective, bool blocks) {
      TargetRates made;
      made.target = target;
      made.productFlopsPerSecond = product * 1e9;
      made.attentionFlopsPerSecond = attention * 1e9;
      made.otherFlopsPerSecond = other * 1e9;
      made.memoryBytesPerSecond = memory * 1e9;
      made.wireBytesPerSecond = wire * 1e9;
      made.commandSeconds = command * 1e-6;
      made.collectiveSeconds = collective * 1e-6;
      made.computeBlocksSubmission = blocks;
      all.push_back(made);
    };
#define ZERO_TARGET_RATES(target, ...) add(#target, __VA_ARGS__);
#include "TargetRates.inc"
    return all;
  }();
  auto found = llvm::find_if(table, [&](const TargetRates &rates) { return rates.target == target; });
  assert(found != table.end() && "a line of TargetRates.inc");
  return *found;
}

static double distanceInDoublings(int64_t from, int64_t to) {
  return std::log2(std::max<int64_t>(to, 1)) - std::log2(std::max<int64_t>(from, 1));
}

static double distance(int64_t a, int64_t b) {
  double d = distanceInDoublings(a, b);
  return d * d;
}

double TargetRates::getProductRate(const ProductShape &shape) const {
  // Seconds of an operation, weighted by the fourth power of the distance in doublings of the sizes.
  double weights = 0, seconds = 0;
  for (const ProductRate &rate : products) {
    const ProductShape &known = rate.shape;
    if (known.element != shape.element || known.transposeLhs != shape.transposeLhs || known.transposeRhs != shape.transposeRhs)
      continue;
    double squared = distance(known.m, shape.m) + distance(known.n, shape.n) + distance(known.k, shape.k);
    double weight = 1 / ((squared + 1e-3) * (squared + 1e-3));
    weights += weight;
    seconds += weight / rate.flopsPerSecond;
  }
  return weights > 0 ? weights / seconds : productFlopsPerSecond;
}

std::optional<KernelRate> TargetRates::getKernelRate(llvm::StringRef kind, int64_t element, int64_t length) const {
  const KernelRate *below = nullptr, *above = nullptr; // the nearest lengths
  for (const KernelRate &rate : kernels) {
    if (rate.kind != kind || rate.element != element)
      continue;
    if (rate.length <= length && (!below || rate.length > below->length))
      below = &rate;
    if (rate.length >= length && (!above || rate.length < above->length))
      above = &rate;
  }
  if (!below || !above || below == above)
    return below || above ? std::optional(below ? *below : *above) : std::nullopt;
  double part = distanceInDoublings(below->length, length) / distanceInDoublings(below->length, above->length);
  // Seconds of a byte or operation lie between.
  auto mix = [&](double one, double other) { return one > 0 && other > 0 ? 1 / ((1 - part) / one + part / other) : 0; };
  KernelRate between = *below;
  between.flopsPerSecond = mix(below->flopsPerSecond, above->flopsPerSecond);
  between.bytesPerSecond = mix(below->bytesPerSecond, above->bytesPerSecond);
  between.seconds = (1 - part) * below->seconds + part * above->seconds;
  return between;
}

double TargetRates::getSlowdown(llvm::StringRef kind, int64_t ranks) const {
  if (sharedRanks < 2 || ranks < 2)
    return 1;
  auto found = slowdowns.find(kind.str());
  if (found == slowdowns.end())
    found = slowdowns.find(kind.starts_with("attention") || kind.starts_with("conv") ? "matmul" : "update");
  if (found == slowdowns.end())
    return 1;
  double whole = found->second;
  return 1 + (whole - 1) * static_cast<double>(std::min(ranks, sharedRanks) - 1) / static_cast<double>(sharedRanks - 1);
}

} // namespace zero
