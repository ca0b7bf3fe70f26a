//===- Timeline.cpp - When the commands of a plan are thought to run ------===//
#include "zero/Analysis/Timeline.h"
#include "zero/Analysis/PlanMemory.h"
#include <cmath>

using namespace mlir;

namespace zero {

const TargetRates &getTargetRates() {
  static constexpr TargetRates kRates[] = {
#define ZERO_TARGET_RATES(target, product, attention, other, memory, wire, command, collective, blocks)                                    \
  {#target, product * 1e9, attention * 1e9, other * 1e9, memory * 1e9, wire * 1e9, command * 1e-6, collective * 1e-6, blocks},
#include "TargetRates.inc"
  };
  return kRates[0];
}

int64_t predictDuration(StringRef kind, const CommandCost &cost, const TargetRates &rates) {
  double seconds;
  if (kind == "all_gather" || kind == "reduce_scatter" || kind == "control_sum") {
    seconds = rates.collectiveSeconds + static_cast<double>(cost.wireBytes) / rates.wireBytesPerSecond;
  } else {
    double flopsPerSecond = kind == "matmul" || kind.starts_with("conv") ? rates.productFlopsPerSecond
                            : kind.starts_with("attention")              ? rates.attentionFlopsPerSecond
                                                                         : rates.otherFlopsPerSecond;
    double computing = static_cast<double>(cost.flops) / flopsPerSecond;
    double moving = static_cast<double>(cost.bytesRead + cost.bytesWritten) / rates.memoryBytesPerSecond;
    seconds = rates.commandSeconds + std::max(computing, moving);
  }
  return std::llround(seconds * 1e9);
}

std::vector<PredictedCommand> predictTimeline(plan::SectionOp section, const CommandCosts &costs, const TargetRates &rates) {
  std::vector<PredictedCommand> commands;
  int64_t queueFree[plan::getMaxEnumValForQueueKind() + 1] = {};
  int64_t submitted = 0; // when the program comes to the next command
  DenseMap<int64_t, int64_t> recorded;
  for (Operation &op : section.getBody().front()) {
    plan::QueueKind queue = getQueue(&op);
    int64_t &free = queueFree[static_cast<unsigned>(queue)];
    PredictedCommand command;
    command.start = std::max(free, submitted);
    for (int64_t event : getWaits(&op))
      command.start = std::max(command.start, recorded.lookup(event));
    command.duration = predictDuration(costs.getKind(&op), costs.get(&op), rates);
    free = command.end();
    if (queue == plan::QueueKind::compute && rates.computeBlocksSubmission)
      submitted = command.end();
    if (std::optional<int64_t> event = getRecord(&op))
      recorded[*event] = command.end();
    commands.push_back(command);
  }
  return commands;
}

} // namespace zero
