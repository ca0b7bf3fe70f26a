//===- StridedCopyShape.h - What a copy between strided layouts does ------===//
#ifndef ZERO_LIB_RUNTIME_KERNELS_STRIDEDCOPYSHAPE_H
#define ZERO_LIB_RUNTIME_KERNELS_STRIDEDCOPYSHAPE_H

#include "lib/Runtime/Kernels/Parameters.h"
#include <algorithm>
#include <cstdlib>

namespace zero::kernels {

/// target[targetOffset + sum of index * target] = source[sourceOffset + sum of index * source] for every index
/// into `dimensions`; offsets and strides are in elements of `bytes`.
struct StridedCopyShape {
  struct Dimension {
    int64_t size, source, target;
  };

  /// Most dimensions.
  static constexpr int64_t kMaxRank = 16;

  int64_t bytes = 0, sourceOffset = 0, targetOffset = 0;
  std::vector<Dimension> dimensions;

  bool empty() const {
    return std::any_of(dimensions.begin(), dimensions.end(), [](const Dimension &d) { return d.size == 0; });
  }

  /// The dimensions without those of one element, by falling target stride, merged where both sides run on.
  static std::vector<Dimension> merge(std::vector<Dimension> dimensions) {
    std::erase_if(dimensions, [](const Dimension &d) { return d.size == 1; });
    std::sort(dimensions.begin(), dimensions.end(),
              [](const Dimension &a, const Dimension &b) { return std::abs(a.target) > std::abs(b.target); });
    std::vector<Dimension> runs;
    for (const Dimension &d : dimensions)
      if (!runs.empty() && runs.back().source == d.source * d.size && runs.back().target == d.target * d.size)
        runs.back() = {runs.back().size * d.size, d.source, d.target};
      else
        runs.push_back(d);
    return runs;
  }

  /// The integers of KernelTable.inc. Errors: a size below 0, a target that would be written twice, an element
  /// of other than 1, 2, 4 or 8 bytes.
  static Expected<StridedCopyShape> read(Parameters &parameters) {
    StridedCopyShape shape;
    shape.bytes = parameters.next();
    int64_t rank = parameters.size("rank");
    std::vector<int64_t> sizes = parameters.list(rank);
    shape.sourceOffset = parameters.size("source_offset");
    std::vector<int64_t> sourceStrides = parameters.list(rank);
    shape.targetOffset = parameters.size("target_offset");
    std::vector<int64_t> targetStrides = parameters.list(rank);
    if (rank > kMaxRank)
      parameters.fail("rank is " + std::to_string(rank) + ", must be at most " + std::to_string(kMaxRank));
    ZERO_RETURN_IF_ERROR(parameters.finish());
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0)
        parameters.fail("size of dimension " + std::to_string(i) + " is " + std::to_string(sizes[i]));
      if (sizes[i] > 1 && targetStrides[i] == 0)
        parameters.fail("target stride of dimension " + std::to_string(i) + " is 0 for " +
                        std::to_string(sizes[i]) + " elements");
      shape.dimensions.push_back({sizes[i], sourceStrides[i], targetStrides[i]});
    }
    if (shape.bytes != 1 && shape.bytes != 2 && shape.bytes != 4 && shape.bytes != 8)
      parameters.fail("element size " + std::to_string(shape.bytes) + " is not supported, must be 1, 2, 4 or 8");
    ZERO_RETURN_IF_ERROR(parameters.finish());
    return shape;
  }
};

} // namespace zero::kernels

#endif
