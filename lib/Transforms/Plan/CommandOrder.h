//===- CommandOrder.h - Which commands of a section end before which ------===//
#ifndef ZERO_LIB_TRANSFORMS_PLAN_COMMANDORDER_H
#define ZERO_LIB_TRANSFORMS_PLAN_COMMANDORDER_H

#include "zero/Analysis/PlanMemory.h"
#include <array>

namespace zero {

inline constexpr int kQueueKinds = plan::getMaxEnumValForQueueKind() + 1;

/// Happens-before within a section: queues run in order, and a command waits for events. Every event waited for is recorded
/// by an earlier command of another queue (plan-verify checks that first). The first `carried` commands are of the section before,
/// which ended without them; nothing is left of what they waited for. The last `early` ones are of the section that follows, and run in
/// this one with waits of their own.
class CommandOrder {
public:
  CommandOrder(llvm::ArrayRef<PlanCommand> commands, int carried, int early);

  /// Whether `earlier` has always ended when `later` starts.
  bool endsBefore(int earlier, int later) const {
    return position[earlier] < before[later][getQueue(earlier)];
  }
  int getQueue(int command) const { return static_cast<int>(commands[command].queue); }

  /// Errors on each wait that other waits imply or that orders no access to the same bytes, and on events that nobody waits
  /// for. `conflict` says whether two commands touch the same bytes, one of them writing; `awaitedLater`: whether a section that
  /// follows waits for the event of a command.
  mlir::LogicalResult verifyEvents(llvm::function_ref<bool(int earlier, int later)> conflict,
                                   llvm::function_ref<bool(mlir::Operation *)> awaitedLater) const;

private:
  using Clock = std::array<int, kQueueKinds>;
  /// Adds to `clock` what has ended with `command`, itself included.
  void join(Clock &clock, int command) const;
  Clock getOwnClock(int command) const;
  /// Whether `command` is of the section that follows.
  bool isBehind(int command) const { return command >= static_cast<int>(commands.size()) - early; }
  /// The commands whose events `command` waits for.
  llvm::SmallVector<int> getAwaited(int command) const;

  llvm::ArrayRef<PlanCommand> commands;
  const int carried, early;
  std::vector<Clock> before;   // for each command: how many commands of each queue have ended when it starts
  std::vector<int> position;   // of the command in its queue
  std::vector<int> previous;   // command of the same queue, or -1
  llvm::DenseMap<int64_t, int> recorders, carriedRecorders; // by event of this section, and of the one before
};

} // namespace zero

#endif
