//===- CommandOrder.h - Which commands of a section end before which ------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_COMMANDORDER_H
#define ZERO_LIB_TRANSFORMS_PLAN_COMMANDORDER_H

#include "zero/Analysis/PlanMemory.h"
#include <array>

namespace zero {

inline constexpr int kQueueKinds = plan::getMaxEnumValForQueueKind() + 1;

/// Happens-before within a section: queues run in order, and a command waits for events. Every event waited for is recorded
/// by an earlier command of another queue (plan-verify checks that first).
class CommandOrder {
public:
  explicit CommandOrder(llvm::ArrayRef<PlanCommand> commands);

  /// Whether `earlier` has always ended when `later` starts.
  bool endsBefore(int earlier, int later) const {
    return position[earlier] < before[later][getQueue(earlier)];
  }
  int getQueue(int command) const { return static_cast<int>(commands[command].queue); }

  /// Errors on each wait that other waits imply or that orders no access to the same bytes, and on events that nobody waits
  /// for. `conflict` says whether two commands touch the same bytes, one of them writing.
  mlir::LogicalResult verifyEvents(llvm::function_ref<bool(int earlier, int later)> conflict) const;

private:
  using Clock = std::array<int, kQueueKinds>;
  /// Adds to `clock` what has ended with `command`, itself included.
  void join(Clock &clock, int command) const;
  Clock getOwnClock(int command) const;

  llvm::ArrayRef<PlanCommand> commands;
  std::vector<Clock> before;   // for each command: how many commands of each queue have ended when it starts
  std::vector<int> position;   // of the command in its queue
  std::vector<int> previous;   // command of the same queue, or -1
  llvm::DenseMap<int64_t, int> recorders;
};

} // namespace zero

#endif
