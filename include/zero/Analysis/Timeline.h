//===- Timeline.h - When the commands of a plan are thought to run --------===//
#ifndef ZERO_ANALYSIS_TIMELINE_H
#define ZERO_ANALYSIS_TIMELINE_H

#include "zero/Analysis/CommandCost.h"
#include <vector>

namespace zero {

/// Rates of one rank of a target, from the table in lib/Analysis/TargetRates.inc.
struct TargetRates {
  llvm::StringRef target;
  double productFlopsPerSecond, attentionFlopsPerSecond, otherFlopsPerSecond, memoryBytesPerSecond, wireBytesPerSecond;
  double commandSeconds, collectiveSeconds;
  bool computeBlocksSubmission;
};

/// The rates of target `cpu`.
const TargetRates &getTargetRates();

/// Nanoseconds from the start of the section.
struct PredictedCommand {
  int64_t start = 0, duration = 0;
  int64_t end() const { return start + duration; }
};

/// How long a command of that kind (CommandCosts::getKind) takes, in nanoseconds: the longer of computing and moving, and what each
/// command takes at least.
int64_t predictDuration(llvm::StringRef kind, const CommandCost &cost, const TargetRates &rates);

/// Runs the section's commands on their queues in thought: each starts when its queue is free, it has been submitted, and the events
/// that it waits for have been recorded. One entry for each command, in order.
std::vector<PredictedCommand> predictTimeline(plan::SectionOp section, const CommandCosts &costs, const TargetRates &rates);

} // namespace zero

#endif
