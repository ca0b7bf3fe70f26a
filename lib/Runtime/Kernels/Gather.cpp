//===- Gather.cpp - Rows by index: out[o, c, i] = data[o, indices[c], i] --===//
#include "lib/Runtime/Kernels/Factories.h"
#include "lib/Runtime/Kernels/Indices.h"
#include "lib/Runtime/Kernels/Parallel.h"
#include "lib/Runtime/Kernels/Parameters.h"
#include <cstring>

using namespace zero;
using namespace zero::kernels;

namespace {

class Gather : public Kernel {
public:
  Gather(IndexReader indices, int64_t outer, int64_t rowBytes)
      : indices(indices), outer(outer), rowBytes(rowBytes) {}

  Status run(void *const *pointers, ParallelFor &parallel) override {
    ZERO_RETURN_IF_ERROR(indices.check("gather", pointers[1]));
    auto *data = static_cast<const char *>(pointers[0]);
    auto *out = static_cast<char *>(pointers[2]);
    parallelFor(parallel, outer * indices.count, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        int64_t row = item / indices.count * indices.axisSize + indices.at(pointers[1], item % indices.count);
        const char *source = data + row * rowBytes;
        char *target = out + item * rowBytes;
        switch (rowBytes) { // single elements: a call of memcpy would cost more than the copy
        case 0: // empty rows may lie nowhere
          break;
        case 1:
          *target = *source;
          break;
        case 2:
          std::memcpy(target, source, 2);
          break;
        case 4:
          std::memcpy(target, source, 4);
          break;
        case 8:
          std::memcpy(target, source, 8);
          break;
        default:
          std::memcpy(target, source, rowBytes);
        }
      }
    });
    return {};
  }

private:
  IndexReader indices;
  int64_t outer, rowBytes;
};

} // namespace

Expected<std::unique_ptr<Kernel>> kernels::makeGather(std::span<const int64_t> integers,
                                                      std::span<const double>, const KernelOptions &) {
  Parameters parameters("gather", integers);
  int64_t bytes = parameters.size("element_bytes");
  auto [indices, outer, inner] = IndexedAxis::read(parameters);
  ZERO_RETURN_IF_ERROR(parameters.finish());
  return std::unique_ptr<Kernel>(std::make_unique<Gather>(indices, outer, inner * bytes));
}
