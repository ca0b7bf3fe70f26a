//===- ModelStates.cpp - What the states of a model take, by formula ------===//
#include "zero/Analysis/ModelStates.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/PlanMemory.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace zero {

StringRef getPrecisionName(Precision precision) {
  switch (precision) {
  case Precision::Float32: return "float32";
  case Precision::Mixed: return "mixed";
  case Precision::BF16Grad32: return "bf16-grad32";
  }
  return "";
}

std::optional<Precision> parsePrecision(StringRef name) {
  for (Precision precision : kPrecisions)
    if (name == getPrecisionName(precision))
      return precision;
  return std::nullopt;
}

ElementStates getAdamStates(Precision precision) {
  switch (precision) {
  case Precision::Float32: return {4, 4, 4 + 4}; // two moments: the parameter is its own master
  case Precision::Mixed: return {2, 2, 4 + 4 + 4};
  case Precision::BF16Grad32: return {2, 4, 4 + 4 + 4};
  }
  return {};
}

ModelStates computeModelStates(int64_t elements, ElementStates states, unsigned stage, int64_t worldSize) {
  const int64_t owned = llvm::divideCeil(elements, worldSize);
  const ShardedKinds sharded = kShardedKindsOfStage[stage];
  ModelStates bytes;
  bytes.parameters = (sharded.parameter ? owned : elements) * states.parameter;
  bytes.gradients = (sharded.gradient ? owned : elements) * states.gradient;
  bytes.optimizer = (sharded.optimizer ? owned : elements) * states.optimizer;
  return bytes;
}

ModelStates computeModelStates(ModuleOp plan) {
  llvm::StringMap<int64_t> optimizerStates;
  for (auto state : plan.getOps<plan::StateOp>())
    optimizerStates[state.getName()] +=
        state.getRole() != "parameter" && state.getRole() != "gradient" && state.getRole() != "frozen";
  const unsigned stage = getConfigInteger(plan, "zero_optimization.stage", 0);
  const int64_t worldSize = getWorldSize(plan);
  ModelStates sum;
  for (auto bucket : plan.getOps<sharding::BucketOp>()) {
    int64_t width = getElementBytes(bucket.getElement());
    ModelStates bytes = computeModelStates(
        bucket.getElements(), {width, width, width * optimizerStates.lookup(bucket.getSymName())}, stage, worldSize);
    sum.parameters += bytes.parameters;
    sum.gradients += bytes.gradients;
    sum.optimizer += bytes.optimizer;
  }
  return sum;
}

int64_t getTrafficFactor(unsigned stage, int64_t microBatches, ReduceAt reduceAt) {
  const ShardedKinds sharded = kShardedKindsOfStage[stage];
  int64_t reductions = reduceAt == ReduceAt::MicroBatch ? microBatches : 1;
  if (sharded.parameter) // gathered for each pass
    return reductions + 2 * microBatches;
  // Updated parameters once a step; where nothing is sharded, what was reduced.
  return reductions + (sharded.optimizer ? 1 : reductions);
}

int64_t computeModelTraffic(int64_t elements, int64_t wireBytes, unsigned stage, int64_t worldSize,
                            int64_t microBatches, ReduceAt reduceAt) {
  // Of padded elements each rank's part is whole; multiplied last, for the product of all overflows first.
  return llvm::divideCeil(elements, worldSize) * (worldSize - 1) * wireBytes *
         getTrafficFactor(stage, microBatches, reduceAt);
}

} // namespace zero
