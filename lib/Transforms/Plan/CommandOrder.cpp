//===- CommandOrder.cpp - Which commands of a section end before which ----===//
#include "CommandOrder.h"

using namespace mlir;

namespace zero {

CommandOrder::CommandOrder(ArrayRef<PlanCommand> commands, int carried, int early) : commands(commands), carried(carried), early(early) {
  std::array<int, kQueueKinds> counts = {}, lasts;
  lasts.fill(-1);
  for (auto [index, command] : llvm::enumerate(commands)) {
    int queue = static_cast<int>(command.queue);
    position.push_back(counts[queue]++);
    previous.push_back(lasts[queue]);
    lasts[queue] = index;
    Clock clock = getOwnClock(index);
    for (int awaited : getAwaited(index))
      join(clock, awaited);
    before.push_back(clock);
    if (std::optional<int64_t> event = getRecord(command.op); event && !isBehind(index))
      (static_cast<int>(index) < carried ? carriedRecorders : recorders)[*event] = index;
  }
}

SmallVector<int> CommandOrder::getAwaited(int command) const {
  SmallVector<int> awaited;
  if (command < carried)
    return awaited;
  for (int64_t event : isBehind(command) ? getEarlyWaits(commands[command].op) : getWaits(commands[command].op))
    awaited.push_back(recorders.lookup(event));
  for (int64_t event : getCarriedWaits(commands[command].op))
    awaited.push_back(carriedRecorders.lookup(event));
  return awaited;
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

LogicalResult CommandOrder::verifyEvents(llvm::function_ref<bool(int, int)> conflict, llvm::function_ref<bool(Operation *)> awaitedLater) const {
  DenseSet<int> allAwaited;
  for (int index = 0, count = commands.size(); index < count; ++index) {
    SmallVector<int> awaited = getAwaited(index);
    for (auto [number, recorder] : llvm::enumerate(awaited)) {
      allAwaited.insert(recorder);
      Clock clock = getOwnClock(index);
      for (auto [other, otherRecorder] : llvm::enumerate(awaited))
        if (other != number)
          join(clock, otherRecorder);
      const bool implied = position[recorder] < clock[getQueue(recorder)];
      if (!implied && conflict(recorder, index))
        continue;
      auto error = commands[index].op->emitError() << "waits for event " << *getRecord(commands[recorder].op) << (recorder < carried || isBehind(index) ? " of @update" : "");
      if (implied)
        error << ", which its other waits and its queue imply; plan-insert-events leaves such out";
      else
        error << " of a command that it shares no bytes with; plan-insert-events orders accesses to the same bytes alone";
      error.attachNote(commands[recorder].op->getLoc()) << "the event is recorded here";
      return error;
    }
  }
  for (int index = carried; !isBehind(index) && index < static_cast<int>(commands.size()); ++index)
    if (std::optional<int64_t> event = getRecord(commands[index].op); event && !allAwaited.contains(index) && !awaitedLater(commands[index].op))
      return commands[index].op->emitError() << "records event " << *event
                                             << ", which nobody waits for; plan-insert-events records what is waited for";
  return success();
}

} // namespace zero
