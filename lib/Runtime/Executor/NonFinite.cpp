//===- NonFinite.cpp - Where a step's numbers are infinite or NaN ---------===//
//
// Runs after a step whose loss or norm is not finite, never in another: it reads all gradients. They are sums over the ranks
// by then, so that of a gradient the parameter can be named and not the rank; the loss is kept from before.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Executor/NonFinite.h"
#include <cmath>
#include <cstring>

namespace zero {
namespace {

/// Whether all bits of the exponent are set in one of `count` floats of type `T`'s width.
template <typename T> bool hasNonFinite(const std::byte *values, uint64_t count, uint64_t exponent) {
  for (uint64_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, values + i * sizeof(T), sizeof bits);
    if ((bits & exponent) == exponent)
      return true;
  }
  return false;
}

bool hasNonFinite(const std::byte *values, uint64_t count, uint64_t bytes, uint64_t exponent) {
  return bytes == 8 ? hasNonFinite<uint64_t>(values, count, exponent)
         : bytes == 4 ? hasNonFinite<uint32_t>(values, count, exponent)
                      : hasNonFinite<uint16_t>(values, count, exponent);
}

/// Bits of the exponent of a float.
uint64_t exponentOf(schema::ElementType element) {
  switch (element) {
  case schema::ElementType::f64:
    return 0x7ff0000000000000;
  case schema::ElementType::f32:
    return 0x7f800000;
  case schema::ElementType::bf16:
    return 0x7f80;
  default:
    return 0x7c00; // f16: gradients are no integers
  }
}

uint64_t elementsOf(const schema::Slot &slot) {
  uint64_t elements = 1;
  for (int64_t dimension : records(slot.shape()))
    elements *= static_cast<uint64_t>(dimension);
  return elements;
}

std::string numberText(float value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

std::string ranksText(const std::vector<unsigned> &ranks) {
  std::string text = ranks.size() == 1 ? " on rank " : " on ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

} // namespace

std::vector<HeldGradient> findHeldGradients(const schema::Plan &plan, unsigned rank) {
  std::vector<HeldGradient> found;
  for (uint32_t index = 0; index < records(plan.buckets()).size(); ++index) {
    const schema::Bucket *bucket = records(plan.buckets())[index];
    const schema::State *state = findState(plan, "gradient", index);
    for (const schema::Slot *slot : records(bucket->slots())) {
      HeldGradient &gradient = found.emplace_back();
      if (!state)
        continue;
      const schema::ElementType element = stateElement(*state, *bucket);
      gradient.elementBytes = elementBytes(element);
      gradient.exponent = exponentOf(element);
      const uint64_t held = state->slice()->size() / gradient.elementBytes, first = state->sharded() ? rank * held : 0;
      const uint64_t begin = std::max(slot->offset(), first), end = std::min(slot->offset() + elementsOf(*slot), first + held);
      gradient.slice = state->slice();
      if (begin < end) {
        gradient.offset = (begin - first) * gradient.elementBytes;
        gradient.elements = end - begin;
      }
    }
  }
  return found;
}

Expected<std::string> findNonFiniteGradients(const schema::Plan &plan, Memory &memory, unsigned rank) {
  std::string found;
  for (const HeldGradient &gradient : findHeldGradients(plan, rank)) {
    if (!gradient.elements) { // this rank holds none of it, or the program keeps none
      found += '0';
      continue;
    }
    bool bad = false;
    const uint64_t most = Executor::kReadBytes / gradient.elementBytes;
    for (uint64_t first = 0; first < gradient.elements && !bad; first += most) {
      const uint64_t elements = std::min(most, gradient.elements - first);
      ZERO_ASSIGN_OR_RETURN(const std::byte *values,
                            memory.read(*gradient.slice, gradient.offset + first * gradient.elementBytes, elements * gradient.elementBytes));
      bad = hasNonFinite(values, elements, gradient.elementBytes, gradient.exponent);
    }
    found += bad ? '1' : '0';
  }
  return found;
}

Expected<std::string> describeNonFinite(const schema::Plan &plan, const Executor &executor, Bootstrap &bootstrap) {
  StepResults results = executor.results();
  std::string mine(1, std::isfinite(results.ownLossSum) ? '0' : '1');
  ZERO_ASSIGN_OR_RETURN(std::string gradients, executor.nonFiniteGradients());
  mine += gradients;
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, bootstrap.allGather(mine));

  if (!std::isfinite(results.loss)) {
    std::vector<unsigned> ranks;
    for (unsigned rank = 0; rank < all.size(); ++rank)
      if (all[rank][0] == '1')
        ranks.push_back(rank);
    // Finite on each rank, the sum may still be too large for a float.
    return "the loss is " + numberText(results.loss) + (ranks.empty() ? "" : ranksText(ranks));
  }
  std::string description = "the gradient norm is " + numberText(results.gradNorm), first;
  size_t index = 0, count = 0;
  for (const schema::Bucket *bucket : records(plan.buckets()))
    for (const schema::Slot *slot : records(bucket->slots())) {
      ++index;
      bool bad = false;
      for (const std::string &rank : all)
        bad |= rank[index] == '1';
      if (bad && count++ == 0)
        first = text(slot->name());
    }
  if (count == 0)
    return description;
  return description + ", the gradient of '" + first + "' is not finite" +
         (count > 1 ? ", nor are those of " + std::to_string(count - 1) + " more" : "");
}

} // namespace zero
