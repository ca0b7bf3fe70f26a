//===- ModelStates.cpp - What the states of a model take, by formula ------===//
#include "zero/Analysis/ModelStates.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/PlanMemory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
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
  SymbolTable symbols(plan);
  llvm::StringMap<ElementStates> widths; // by bucket
  for (auto state : plan.getOps<plan::StateOp>()) {
    auto bucket = symbols.lookup<sharding::BucketOp>(state.getName());
    if (!bucket)
      continue;
    int64_t width = getElementBytes(state.getElement().value_or(bucket.getElement()));
    ElementStates &states = widths[state.getName()];
    (state.getRole() == "parameter" ? states.parameter : state.getRole() == "gradient" ? states.gradient : states.optimizer) += width;
  }
  const unsigned stage = getConfigInteger(plan, "zero_optimization.stage", 0);
  const int64_t worldSize = getWorldSize(plan);
  ModelStates sum;
  for (auto bucket : plan.getOps<sharding::BucketOp>()) {
    ModelStates bytes = computeModelStates(bucket.getElements(), widths.lookup(bucket.getSymName()), stage, worldSize);
    sum.parameters += bytes.parameters;
    sum.gradients += bytes.gradients;
    sum.optimizer += bytes.optimizer;
  }
  return sum;
}

/// `sum` and the elements of `shape`, or the largest number where they are more.
static int64_t addElements(int64_t sum, ArrayRef<int64_t> shape) {
  uint64_t elements = 1;
  for (int64_t size : shape)
    elements = llvm::SaturatingMultiply(elements, static_cast<uint64_t>(size));
  elements = llvm::SaturatingAdd(elements, static_cast<uint64_t>(sum));
  return static_cast<int64_t>(std::min<uint64_t>(elements, std::numeric_limits<int64_t>::max()));
}

std::optional<int64_t> countParameterElements(ModuleOp module) {
  std::optional<int64_t> elements;
  for (auto bucket : module.getOps<sharding::BucketOp>())
    for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>())
      elements = addElements(elements.value_or(0), slot.getShape());
  if (elements)
    return elements;
  // Functions of a step have the same parameters.
  llvm::StringSet<> counted;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto role = function.getArgAttrOfType<nn::RoleAttr>(index, nn::kRoleAttrName);
      auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
      if (role && type && role.getKind() == nn::RoleKind::Parameter && counted.insert(role.getName()).second)
        elements = addElements(elements.value_or(0), type.getShape());
    }
  return elements;
}

TrafficFactors getTrafficFactors(unsigned stage, int64_t microBatches, ReduceAt reduceAt) {
  const ShardedKinds sharded = kShardedKindsOfStage[stage];
  int64_t reductions = reduceAt == ReduceAt::MicroBatch ? microBatches : 1;
  if (sharded.parameter) // gathered for each pass
    return {reductions, 2 * microBatches};
  return {reductions, sharded.optimizer ? 1 : reductions};
}

uint64_t computeModelTraffic(int64_t elements, ElementStates states, unsigned stage, int64_t worldSize,
                             int64_t microBatches, ReduceAt reduceAt) {
  TrafficFactors factors = getTrafficFactors(stage, microBatches, reduceAt);
  int64_t gathered = kShardedKindsOfStage[stage].optimizer ? states.parameter : states.gradient;
  // Of padded elements each rank's part is whole.
  return static_cast<uint64_t>(llvm::divideCeil(elements, worldSize)) * static_cast<uint64_t>(worldSize - 1) *
         static_cast<uint64_t>(factors.reductions * states.parameter + factors.gathers * gathered);
}

} // namespace zero
