//===- Timeline.cpp - When the commands of a plan are thought to run ------===//
#include "zero/Analysis/Timeline.h"
#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/PlanMemory.h"
#include <cmath>
#include <utility>

using namespace mlir;

namespace zero {

static bool isCollective(StringRef kind) { return kind == "all_gather" || kind == "reduce_scatter" || kind == "control_sum"; }

/// Of what a link carries, frames and headers are part: TCP over Ethernet has 1448 of 1514 bytes for its messages.
static constexpr double kPayload = 1448.0 / 1514;

/// Of generated code: its arithmetic, and what it streams, which is slower where it goes down columns.
static double predictGenerated(const CommandCost &cost, const TargetRates &rates) {
  double computing = 0;
  for (auto [elements, seconds] : llvm::zip(cost.arithmetic, rates.elementSeconds))
    computing += static_cast<double>(elements) * seconds;
  double bytesPerSecond = rates.memoryBytesPerSecond;
  if (cost.length)
    if (std::optional<KernelRate> rate = rates.getKernelRate(kRowReductions, 0, cost.length))
      bytesPerSecond = rate->bytesPerSecond;
  return std::max(computing, static_cast<double>(cost.bytesMoved) / bytesPerSecond);
}

static double predictMeasured(const KernelRate &rate, const CommandCost &cost) {
  return rate.flopsPerSecond > 0 ? static_cast<double>(cost.flops) / rate.flopsPerSecond
                                 : static_cast<double>(cost.wireBytes ? cost.wireBytes : cost.bytesMoved) / rate.bytesPerSecond;
}

int64_t predictDuration(StringRef kind, const CommandCost &cost, const TargetRates &rates) {
  double seconds;
  if (std::optional<KernelRate> rate = rates.getKernelRate(kind, cost.element, cost.length)) {
    seconds = (isCollective(kind) ? rate->seconds : std::max(rates.commandSeconds, rate->seconds)) + predictMeasured(*rate, cost);
  } else if (isCollective(kind)) {
    seconds = rates.collectiveSeconds + static_cast<double>(cost.wireBytes) / rates.wireBytesPerSecond;
  } else if (rates.isCalibrated() && (kind == "fused" || kind == "update")) {
    seconds = rates.commandSeconds + predictGenerated(cost, rates);
  } else {
    double flopsPerSecond = kind == "matmul"                 ? rates.getProductRate(cost.product)
                            : kind.starts_with("conv")       ? rates.productFlopsPerSecond
                            : kind.starts_with("attention")  ? rates.attentionFlopsPerSecond
                                                             : rates.otherFlopsPerSecond;
    double computing = static_cast<double>(cost.flops) / flopsPerSecond;
    double moving = static_cast<double>(cost.bytesMoved) / rates.memoryBytesPerSecond;
    seconds = rates.commandSeconds + std::max(computing, moving);
  }
  return std::llround(seconds * 1e9);
}

std::vector<PredictedCommand> predictTimeline(plan::SectionOp section, const CommandCosts &costs, const TargetRates &rates) {
  std::vector<PredictedCommand> commands;
  int64_t queueFree[plan::getMaxEnumValForQueueKind() + 1] = {};
  int64_t submitted = 0; // when the program comes to the next command
  int64_t linkFree = 0;
  int64_t owed = 0; // what collectives have taken of the core and the compute queue has not yet lost
  DenseMap<int64_t, int64_t> recorded;
  for (Operation &op : section.getBody().front()) {
    plan::QueueKind queue = getQueue(&op);
    StringRef kind = costs.getKind(&op);
    CommandCost cost = costs.get(&op);
    int64_t &free = queueFree[static_cast<unsigned>(queue)];
    PredictedCommand command;
    command.start = std::max(free, submitted);
    for (int64_t event : getWaits(&op))
      command.start = std::max(command.start, recorded.lookup(event));
    command.duration = predictDuration(kind, cost, rates);
    if (isCollective(kind)) {
      std::optional<KernelRate> messages = rates.linkBytesPerSecond > 0 ? rates.getKernelRate(kMessages, 0, 0) : std::nullopt;
      int64_t core = messages ? std::llround((messages->seconds + static_cast<double>(cost.wireBytes) / messages->bytesPerSecond) * 1e9) : command.duration;
      owed += rates.collectivesUseCore ? core : 0;
      if (rates.linkBytesPerSecond > 0) {
        int64_t wire = std::llround(static_cast<double>(cost.wireBytes) / (kPayload * rates.linkBytesPerSecond) * 1e9);
        int64_t begin = std::max(command.start, linkFree);
        linkFree = begin + wire;
        command.duration = begin + std::max(command.duration, wire) - command.start;
      }
    } else if (queue == plan::QueueKind::compute) {
      command.duration = std::llround(static_cast<double>(command.duration) * rates.getSlowdown(kind, costs.getWorldSize()));
      owed = std::max<int64_t>(owed - (command.start - free), 0); // what was done while it waited
      command.start += std::exchange(owed, 0);
    }
    free = command.end();
    if (queue == plan::QueueKind::compute && rates.computeBlocksSubmission)
      submitted = command.end();
    if (std::optional<int64_t> event = getRecord(&op))
      recorded[*event] = command.end();
    commands.push_back(command);
  }
  return commands;
}

int64_t getRunsPerStep(plan::SectionOp section) {
  StringRef name = section.getSymName();
  return name == "predict" ? 0 : name == "micro_next" ? getAccumulationSteps(section->getParentOfType<ModuleOp>()) - 1 : 1;
}

PredictedStep predictStep(ModuleOp module, const CommandCosts &costs, const TargetRates &rates) {
  PredictedStep step;
  for (auto section : module.getOps<plan::SectionOp>()) {
    int64_t end = 0, computing = 0;
    std::vector<PredictedCommand> times = predictTimeline(section, costs, rates);
    for (auto [op, time] : llvm::zip(section.getBody().front(), times)) {
      end = std::max(end, time.end());
      computing += getQueue(&op) == plan::QueueKind::compute ? time.duration : 0;
    }
    step.duration += getRunsPerStep(section) * end;
    step.exposed += getRunsPerStep(section) * (end - computing);
  }
  return step;
}

} // namespace zero
