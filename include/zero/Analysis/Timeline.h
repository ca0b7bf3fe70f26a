//===- Timeline.h - When the commands of a plan are thought to run --------===//
#ifndef ZERO_ANALYSIS_TIMELINE_H
#define ZERO_ANALYSIS_TIMELINE_H

#include "zero/Analysis/TargetRates.h"
#include <vector>

namespace zero {

/// Nanoseconds from the start of the section.
struct PredictedCommand {
  int64_t start = 0, duration = 0;
  int64_t end() const { return start + duration; }
};

/// How long a command of that kind (CommandCosts::getKind) takes, in nanoseconds. Uncalibrated: the longer of computing and moving;
/// calibrated: at the rate of its kernel and shape; and what each command takes at least. Of a rank that has the machine for itself; of a
/// collective, what ranks of one machine take.
int64_t predictDuration(llvm::StringRef kind, const CommandCost &cost, const TargetRates &rates);

/// Runs the section's commands on their queues in thought: each starts when its queue is free, it has been submitted, and the events
/// that it waits for have been recorded. Collectives of all queues share the link, and where it says so in `rates` the core that computes;
/// ranks that compute at once share the memory of their machine. `micro_first` begins with what outlasts `update`, as in the second step.
/// One entry for each command, in order.
std::vector<PredictedCommand> predictTimeline(plan::SectionOp section, const CommandCosts &costs, const TargetRates &rates);

/// A step, in nanoseconds; `exposed`: while its compute queue waits. Zero where the program does not train.
struct PredictedStep {
  int64_t duration = 0, exposed = 0;
};
PredictedStep predictStep(mlir::ModuleOp module, const CommandCosts &costs, const TargetRates &rates);

/// How often a step runs the section.
int64_t getRunsPerStep(plan::SectionOp section);

} // namespace zero

#endif
