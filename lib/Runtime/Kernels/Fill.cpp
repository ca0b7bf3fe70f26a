//===- Fill.cpp - One value everywhere ------------------------------------===//
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <algorithm>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Elements of one independent range.
constexpr int64_t kChunk = 16384;

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
                                                    std::span<const double>, const KernelOptions &) {
  Parameters parameters("fill", integers);
  int64_t bytes = parameters.next();
  int64_t count = parameters.size("count");
  auto bits = static_cast<uint64_t>(parameters.next());
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    parameters.fail("element_bytes is " + std::to_string(bytes) + ", must be 1, 2, 4 or 8");
  ZERO_RETURN_IF_ERROR(parameters.finish());
  return std::unique_ptr<Kernel>(std::make_unique<Fill>(bytes, count, bits));
}
