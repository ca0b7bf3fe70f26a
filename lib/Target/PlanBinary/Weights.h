//===- Weights.h - The bytes that states start from -----------------------===//
#ifndef ZERO_LIB_TARGET_PLANBINARY_WEIGHTS_H
#define ZERO_LIB_TARGET_PLANBINARY_WEIGHTS_H

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "zero/Container/Container.h"
#include "zero/Runtime/Base/Status.h"
#include <string>
#include <vector>

namespace zero::planbinary {

/// A tensor's bytes and where they lie in its bucket, or in the frozen section.
struct WeightTensor {
  std::string name;
  mlir::Attribute data; // nn.external or elements
  uint64_t offset = 0;
  uint64_t bytes = 0;
  mlir::Type element; ///< of these bytes, which the state may hold rounded
};

/// A bucket's place in each rank's part of the weights.
struct WeightBucket {
  std::string name;
  uint64_t bytes = 0;
  uint64_t chunkOffset = 0;
  mlir::Type element; ///< of the model's weights, alike for all parameters of a bucket
  std::vector<WeightTensor> tensors; // in order of offset; what lies between them is zero
};

/// The layout of the Weights section (rank after rank, bucket after bucket) and of the Frozen section.
struct WeightsLayout {
  uint64_t worldSize = 1;
  uint64_t rankPartBytes = 0;
  std::vector<WeightBucket> buckets;
  std::vector<WeightTensor> frozen;
  uint64_t frozenBytes = 0;
};

/// A frozen tensor, or a number that steps leave to one another: what starts from the Frozen section.
bool isLone(plan::StateOp state);

Expected<WeightsLayout> computeWeightsLayout(mlir::ModuleOp module);

/// Gives all bytes of the section to the sink. Files are read in blocks; the checksum of each is verified at
/// its end.
Status produceWeights(const WeightsLayout &layout, const std::string &folder,
                      const ContainerWriter::Sink &sink);
Status produceFrozen(const WeightsLayout &layout, const std::string &folder,
                     const ContainerWriter::Sink &sink);

} // namespace zero::planbinary

#endif
