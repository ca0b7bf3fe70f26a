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

/// What messages take of a core that computes, in units of what the thread that exchanges them does: interrupts and caches that it
/// leaves cold cost as much again (measured beside products over 1 Gbit/s, Linux 6.18: 50 and 48 ms for 100 MB each way).
static constexpr double kBesideMessages = 2;

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
    double flopsPerSecond = kind.ends_with("matmul")         ? rates.getProductRate(cost.product)
                            : kind.starts_with("conv")       ? rates.productFlopsPerSecond
                            : kind.starts_with("attention")  ? rates.attentionFlopsPerSecond
                                                             : rates.otherFlopsPerSecond;
    double computing = static_cast<double>(cost.flops) / flopsPerSecond;
    double moving = static_cast<double>(cost.bytesMoved) / rates.memoryBytesPerSecond;
    seconds = rates.commandSeconds + std::max(computing, moving);
  }
  return std::llround(seconds * 1e9);
}

namespace {

constexpr unsigned kQueues = plan::getMaxEnumValForQueueKind() + 1;

/// What a section finds under way, in nanoseconds from its start, and what it leaves, from its end.
struct UnderWay {
  int64_t queueFree[kQueues] = {};
  int64_t linkFree = 0;
  int64_t owed = 0; ///< what collectives have taken of the core and the compute queue has not yet lost
  DenseMap<int64_t, int64_t> recorded;        ///< events of the section before
  DenseMap<Operation *, PredictedCommand> early; ///< what is left of commands of this section that the one before has submitted
};

struct PredictedSection {
  std::vector<PredictedCommand> commands;
  int64_t end = 0; ///< but for what outlasts it
  UnderWay left;
};

class SectionClock {
public:
  SectionClock(const CommandCosts &costs, const TargetRates &rates, UnderWay found) : costs(costs), rates(rates), state(std::move(found)) {}

  PredictedSection run(plan::SectionOp section, ArrayRef<Operation *> early) {
    PredictedSection result;
    for (int64_t free : state.queueFree)
      result.end = std::max(result.end, free);
    for (Operation &op : section.getBody().front()) {
      PredictedCommand command;
      if (auto submitted = state.early.find(&op); submitted != state.early.end()) {
        command = submitted->second;
      } else {
        command = run(&op, getWaits(&op));
      }
      if (std::optional<int64_t> event = getRecord(&op))
        recorded[*event] = command.end();
      if (!outlastsSection(&op))
        result.end = std::max(result.end, command.end());
      result.commands.push_back(command);
    }
    auto behindEnd = [&](int64_t time) { return std::max<int64_t>(time - result.end, 0); };
    // Each as soon as its events are recorded, beside commands of other queues.
    submitted = 0;
    for (Operation *op : early) {
      PredictedCommand command = run(op, getEarlyWaits(op));
      int64_t begin = behindEnd(command.start);
      result.left.early[op] = {begin, behindEnd(command.end()) - begin};
    }
    for (auto [left, free] : llvm::zip(result.left.queueFree, state.queueFree))
      left = behindEnd(free);
    result.left.linkFree = behindEnd(state.linkFree);
    for (auto [event, time] : recorded)
      result.left.recorded[event] = behindEnd(time);
    // Where nothing runs on, the last collectives were waited for.
    if (!early.empty() || llvm::any_of(section.getBody().front(), [](Operation &op) { return outlastsSection(&op); }))
      result.left.owed = state.owed;
    return result;
  }

private:
  PredictedCommand run(Operation *op, ArrayRef<int64_t> waits) {
    plan::QueueKind queue = getQueue(op);
    StringRef kind = costs.getKind(op);
    CommandCost cost = costs.get(op);
    int64_t &free = state.queueFree[static_cast<unsigned>(queue)];
    PredictedCommand command;
    command.start = std::max(free, submitted);
    for (int64_t event : waits)
      command.start = std::max(command.start, recorded.lookup(event));
    for (int64_t event : getCarriedWaits(op))
      command.start = std::max(command.start, state.recorded.lookup(event));
    command.duration = predictDuration(kind, cost, rates);
    if (isCollective(kind)) {
      std::optional<KernelRate> messages = rates.linkBytesPerSecond > 0 ? rates.getKernelRate(kMessages, 0, 0) : std::nullopt;
      const auto sent = static_cast<double>(cost.wireBytes - cost.omittedBytes);
      int64_t core = messages ? std::llround(kBesideMessages * (messages->seconds + sent / messages->bytesPerSecond) * 1e9)
                              : command.duration;
      state.owed += rates.collectivesUseCore ? core : 0;
      if (rates.linkBytesPerSecond > 0) {
        int64_t wire = std::llround(sent / (kPayload * rates.linkBytesPerSecond) * 1e9);
        int64_t begin = std::max(command.start, state.linkFree);
        state.linkFree = begin + wire;
        command.duration = begin + std::max(command.duration, wire) - command.start;
      }
    } else if (queue == plan::QueueKind::compute) {
      command.duration = std::llround(static_cast<double>(command.duration) * rates.getSlowdown(kind, costs.getWorldSize()));
      state.owed = std::max<int64_t>(state.owed - (command.start - free), 0); // what was done while it waited
      command.start += std::exchange(state.owed, 0);
    }
    free = command.end();
    if (queue == plan::QueueKind::compute && rates.computeBlocksSubmission)
      submitted = command.end();
    return command;
  }

  const CommandCosts &costs;
  const TargetRates &rates;
  UnderWay state;
  int64_t submitted = 0; ///< when the program comes to the next command
  DenseMap<int64_t, int64_t> recorded;
};

/// In the second step and those after it: micro_first begins with what update leaves under way.
PredictedSection predictInStep(plan::SectionOp section, const CommandCosts &costs, const TargetRates &rates) {
  SmallVector<Operation *> early;
  auto module = section->getParentOfType<ModuleOp>();
  auto find = [&](StringRef name) {
    auto sections = module.getOps<plan::SectionOp>();
    auto it = llvm::find_if(sections, [&](plan::SectionOp each) { return each.getSymName() == name; });
    return it == sections.end() ? plan::SectionOp() : *it;
  };
  if (plan::SectionOp first = find("micro_first"); first && section.getSymName() == "update")
    for (Operation &op : first.getBody().front())
      if (isEarly(&op))
        early.push_back(&op);
  UnderWay found;
  if (plan::SectionOp update = find("update"); update && section.getSymName() == "micro_first")
    found = predictInStep(update, costs, rates).left;
  return SectionClock(costs, rates, std::move(found)).run(section, early);
}

} // namespace

std::vector<PredictedCommand> predictTimeline(plan::SectionOp section, const CommandCosts &costs, const TargetRates &rates) {
  return predictInStep(section, costs, rates).commands;
}

int64_t getRunsPerStep(plan::SectionOp section) {
  StringRef name = section.getSymName();
  return name == "predict" ? 0 : name == "micro_next" ? getAccumulationSteps(section->getParentOfType<ModuleOp>()) - 1 : 1;
}

PredictedStep predictStep(ModuleOp module, const CommandCosts &costs, const TargetRates &rates) {
  PredictedStep step;
  for (auto section : module.getOps<plan::SectionOp>()) {
    PredictedSection times = predictInStep(section, costs, rates);
    int64_t computing = 0;
    for (auto [op, time] : llvm::zip(section.getBody().front(), times.commands))
      computing += getQueue(&op) == plan::QueueKind::compute ? time.duration : 0;
    step.duration += getRunsPerStep(section) * times.end;
    step.exposed += getRunsPerStep(section) * (times.end - computing);
  }
  return step;
}

} // namespace zero
