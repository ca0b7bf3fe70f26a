//===- Fill.cpp - One value everywhere ------------------------------------===//
#include "lib/Runtime/Kernels/Element.h"
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Elements of one independent range.
constexpr int64_t kChunk = 16384;

uint16_t roundToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// The bits of `value` as an element of that type, in the low bytes.
uint64_t encode(Element element, double value) {
  switch (element) {
  case Element::F32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  case Element::F64:
    return std::bit_cast<uint64_t>(value);
  case Element::F16:
    return std::bit_cast<uint16_t>(static_cast<_Float16>(static_cast<float>(value)));
  case Element::BF16:
    return roundToBFloat16(static_cast<float>(value));
  case Element::I1:
    return value != 0;
  default:
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

class Fill : public Kernel {
public:
  Fill(int64_t bytes, int64_t count, uint64_t bits) : bytes(bytes), count(count), bits(bits) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    parallelFor(parallel, (count + kChunk - 1) / kChunk, [&](int64_t begin, int64_t end) {
      int64_t from = begin * kChunk, to = std::min(count, end * kChunk);
      switch (bytes) {
      case 1:
        return fill<uint8_t>(pointers[0], from, to);
      case 2:
        return fill<uint16_t>(pointers[0], from, to);
      case 4:
        return fill<uint32_t>(pointers[0], from, to);
      default:
        return fill<uint64_t>(pointers[0], from, to);
      }
    });
    return {};
  }

private:
  template <typename T> void fill(void *out, int64_t from, int64_t to) const {
    std::fill(static_cast<T *>(out) + from, static_cast<T *>(out) + to, static_cast<T>(bits));
  }

  int64_t bytes, count;
  uint64_t bits;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeFill(std::span<const int64_t> integers,
                                                    std::span<const double> reals, const KernelOptions &) {
  Parameters parameters("fill", integers);
  int64_t element = parameters.next();
  int64_t count = parameters.size("count");
  if (!elementBytes(element))
    parameters.fail("unknown element type " + std::to_string(element));
  if (reals.size() != 1)
    parameters.fail("takes 1 real, got " + std::to_string(reals.size()));
  ZERO_RETURN_IF_ERROR(parameters.finish());
  return std::unique_ptr<Kernel>(
      std::make_unique<Fill>(elementBytes(element), count, encode(static_cast<Element>(element), reals[0])));
}
