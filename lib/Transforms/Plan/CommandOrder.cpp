//===- CommandOrder.cpp - Which commands of a section end before which ----===//
#include "CommandOrder.h"

using namespace mlir;

namespace zero {

CommandOrder::CommandOrder(ArrayRef<PlanCommand> commands) : commands(commands) {
  std::array<int, kQueueKinds> counts = {}, lasts;
  lasts.fill(-1);
  for (auto [index, command] : llvm::enumerate(commands)) {
    int queue = static_cast<int>(command.queue);
    position.push_back(counts[queue]++);
    previous.push_back(lasts[queue]);
    lasts[queue] = index;
    Clock clock = getOwnClock(index);
    for (int64_t event : getWaits(command.op))
      join(clock, recorders.lookup(event));
    before.push_back(clock);
    if (std::optional<int64_t> event = getRecord(command.op))
      recorders[*event] = index;
  }
}

void CommandOrder::join(Clock &clock, int command) const {
  for (int queue = 0; queue < kQueueKinds; ++queue)
    clock[queue] = std::max(clock[queue], before[command][queue]);
  int queue = getQueue(command);
  clock[queue] = std::max(clock[queue], position[command] + 1);
}

CommandOrder::Clock CommandOrder::getOwnClock(int command) const {
  Clock clock = {};
  if (previous[command] >= 0)
    join(clock, previous[command]);
  return clock;
}

LogicalResult CommandOrder::verifyEvents(llvm::function_ref<bool(int, int)> conflict) const {
  DenseSet<int64_t> awaited;
  for (auto [index, command] : llvm::enumerate(commands)) {
    ArrayRef<int64_t> waits = getWaits(command.op);
    for (auto [number, event] : llvm::enumerate(waits)) {
      awaited.insert(event);
      int recorder = recorders.lookup(event);
      Clock clock = getOwnClock(index);
      for (auto [other, otherEvent] : llvm::enumerate(waits))
        if (other != number)
          join(clock, recorders.lookup(otherEvent));
      const bool implied = position[recorder] < clock[getQueue(recorder)];
      if (!implied && conflict(recorder, index))
        continue;
      auto error = command.op->emitError() << "waits for event " << event;
      if (implied)
        error << ", which its other waits and its queue imply; plan-insert-events leaves such out";
      else
        error << " of a command that it shares no bytes with; plan-insert-events orders accesses to the same bytes alone";
      error.attachNote(commands[recorder].op->getLoc()) << "the event is recorded here";
      return error;
    }
  }
  for (const PlanCommand &command : commands)
    if (std::optional<int64_t> event = getRecord(command.op); event && !awaited.contains(*event))
      return command.op->emitError() << "records event " << *event
                                     << ", which nobody waits for; plan-insert-events records what is waited for";
  return success();
}

} // namespace zero
