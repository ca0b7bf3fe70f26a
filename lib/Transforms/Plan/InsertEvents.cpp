//===- InsertEvents.cpp - plan-insert-events ------------------------------===//
//
//   plan.collective all_gather f32 on gather <@shard, ..> to <@bucket, ..> waits [] {..}
//   plan.dispatch "f" on compute reads [<@bucket, ..>] writes [<@y, ..>] waits [] {..}
//
// becomes
//
//   plan.collective all_gather f32 on gather <@shard, ..> to <@bucket, ..> waits [] records 0 {..}
//   plan.dispatch "f" on compute reads [<@bucket, ..>] writes [<@y, ..>] waits [0] {..}
//
// One walk over the commands in program order. For each byte it knows the last read and the last write of
// each queue; for each command, the last command of each queue that has ended when it starts. An event is
// added where a conflicting access is not among these, unless another event that the command needs brings it
// along: what is added cannot be implied by what follows, so no event is redundant.
//
// Collectives of `update` that outlast it stand before the first command of `micro_first` as if on a queue of their own, whose
// events are those of `update`; the channel's queue itself has them behind it from its first command on. Early gathers of
// `micro_first` stand behind the last command of `update`, with waits of their own.
//
//===----------------------------------------------------------------------===//
#include "zero/Analysis/PlanMemory.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANINSERTEVENTS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

constexpr int kQueues = plan::getMaxEnumValForQueueKind() + 1;
/// Where clocks count what outlasts the section before.
constexpr int kCarried = kQueues;
/// The last command of each queue, and of those carried over, for which something holds; -1: none.
using QueueClock = std::array<int, kQueues + 1>;
constexpr QueueClock makeEmptyClock() {
  QueueClock clock = {};
  clock.fill(-1);
  return clock;
}

/// The last accesses of all bytes, in ranges whose bytes have the same.
class LastAccesses {
public:
  /// Calls `visit` for each range within [begin, end), after cutting ranges at both ends.
  template <typename Visitor> void visit(int64_t begin, int64_t end, Visitor visitor) {
    cut(begin);
    cut(end);
    for (auto it = ranges.find(begin); it != ranges.end() && it->first < end; ++it)
      visitor(it->second);
  }

  struct Range {
    QueueClock reads = makeEmptyClock(), writes = makeEmptyClock();
  };

private:
  /// Ranges are kept by their first byte; each ends where the next begins.
  void cut(int64_t at) {
    auto next = ranges.lower_bound(at);
    if (next != ranges.end() && next->first == at)
      return;
    Range before = next == ranges.begin() ? Range() : std::prev(next)->second;
    ranges.emplace_hint(next, at, before);
  }
  std::map<int64_t, Range> ranges;
};

void setEvents(Operation *command, ArrayRef<int64_t> waits, ArrayRef<int64_t> carried, std::optional<int64_t> record) {
  Builder builder(command->getContext());
  TypeSwitch<Operation *>(command).Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(
      [&](auto op) {
        op.setWaits(waits);
        op.setCarried(carried);
        op.setRecordAttr(record ? builder.getI64IntegerAttr(*record) : IntegerAttr());
      });
}

/// The events of a section: what each of its commands waits for, by the number of the command that records it.
struct SectionEvents {
  std::vector<SmallVector<int>> waits, carried;
  std::vector<bool> records;
};

class PlanInsertEvents : public impl::PlanInsertEventsBase<PlanInsertEvents> {
public:
  using PlanInsertEventsBase::PlanInsertEventsBase;
  void runOnOperation() override {
    PlanMemory memory(getOperation());
    // Arenas one behind the other: an address is one number.
    llvm::StringMap<int64_t> arenaStarts;
    int64_t start = 0;
    for (auto arena : getOperation().getOps<plan::ArenaOp>()) {
      arenaStarts[arena.getSymName()] = start;
      start += arena.getSizeBytes();
    }
    SmallVector<int64_t> addresses;
    for (plan::BufferOp buffer : memory.getBuffers()) {
      if (!buffer.getOffset()) {
        buffer.emitError() << "buffer @" << buffer.getSymName()
                           << " has no offset; plan-assign-offsets comes first";
        return signalPassFailure();
      }
      addresses.push_back(arenaStarts.lookup(buffer.getArena()) + *buffer.getOffset());
    }
    const unsigned count = memory.getSections().size();
    for (unsigned section = 0; section < count; ++section)
      forgetIdle(memory, section, addresses);
    std::vector<SectionEvents> found;
    for (unsigned section = 0; section < count; ++section)
      found.push_back(find(withEarly(memory, section), memory.getCarriedCommands(section), addresses));
    // What one section waits for another records.
    llvm::DenseMap<Operation *, int64_t> numbers;
    llvm::DenseSet<Operation *> recorders;
    for (unsigned section = 0; section < count; ++section) {
      std::vector<PlanCommand> commands = withEarly(memory, section), carried = memory.getCarriedCommands(section);
      for (auto [index, recorded] : llvm::enumerate(found[section].records))
        if (recorded)
          recorders.insert(commands[index].op);
      for (ArrayRef<int> waits : found[section].carried)
        for (int awaited : waits)
          recorders.insert(carried[awaited].op);
    }
    for (unsigned section = 0; section < count; ++section)
      number(memory.getCommands(section), recorders, numbers);
    for (unsigned section = 0; section < count; ++section)
      set(withEarly(memory, section), memory.getCommands(section).size(), memory.getCarriedCommands(section), found[section], numbers);
  }

private:
  static std::vector<PlanCommand> withEarly(const PlanMemory &memory, unsigned section) {
    std::vector<PlanCommand> commands = memory.getCommands(section);
    llvm::append_range(commands, memory.getEarlyCommands(section));
    return commands;
  }

  /// An early gather that waits for nothing of the update has nothing to come behind: it and those after it start with their section.
  static void forgetIdle(const PlanMemory &memory, unsigned section, ArrayRef<int64_t> addresses) {
    std::vector<PlanCommand> early = memory.getEarlyCommands(section);
    if (early.empty())
      return;
    SectionEvents events = find(withEarly(memory, section), {}, addresses);
    ArrayRef<SmallVector<int>> waits = ArrayRef(events.waits).take_back(early.size());
    auto idle = llvm::find_if(waits, [](ArrayRef<int> of) { return of.empty(); });
    for (const PlanCommand &command : ArrayRef(early).drop_front(idle - waits.begin()))
      cast<plan::CollectiveOp>(command.op).removeEarlyAttr();
  }

  static SectionEvents find(ArrayRef<PlanCommand> commands, ArrayRef<PlanCommand> carried, ArrayRef<int64_t> addresses) {
    LastAccesses bytes;
    for (auto [index, command] : llvm::enumerate(carried))
      noteAccesses(bytes, command, addresses, kCarried, index);
    // The queue that runs them is behind them with its first command.
    std::array<QueueClock, kQueues> last;
    last.fill(makeEmptyClock());
    for (const PlanCommand &command : carried)
      ++last[static_cast<int>(command.queue)][kCarried];
    std::vector<QueueClock> ended(commands.size(), makeEmptyClock()); // with each command, itself included
    SectionEvents events = {std::vector<SmallVector<int>>(commands.size()), std::vector<SmallVector<int>>(commands.size()),
                            std::vector<bool>(commands.size())};
    for (auto [index, command] : llvm::enumerate(commands)) {
      int queue = static_cast<int>(command.queue);
      QueueClock known = last[queue];
      QueueClock needed = findConflicts(bytes, command, addresses);
      SmallVector<int> &waits = events.waits[index];
      for (int other = 0; other <= kCarried; ++other) {
        if (other == queue || needed[other] <= known[other])
          continue;
        bool implied = false;
        for (int via = 0; via < kQueues; ++via)
          implied |= via != queue && via != other && needed[via] > known[via] &&
                     ended[needed[via]][other] >= needed[other];
        if (implied)
          continue;
        if (other == kCarried) {
          events.carried[index].push_back(needed[other]);
          continue;
        }
        waits.push_back(needed[other]);
        events.records[needed[other]] = true;
      }
      for (int awaited : waits)
        for (int other = 0; other <= kCarried; ++other)
          known[other] = std::max(known[other], ended[awaited][other]);
      for (int awaited : events.carried[index])
        known[kCarried] = std::max(known[kCarried], awaited);
      known[queue] = index;
      ended[index] = last[queue] = known;
      noteAccesses(bytes, command, addresses, queue, index);
    }
    return events;
  }

  /// Numbers the events of a section in the order of the commands that record them.
  void number(ArrayRef<PlanCommand> commands, const llvm::DenseSet<Operation *> &recorders, llvm::DenseMap<Operation *, int64_t> &numbers) {
    int64_t count = 0;
    for (const PlanCommand &command : commands)
      if (recorders.contains(command.op))
        numbers[command.op] = count++;
    events += count;
  }

  /// The first `own` commands are the section's; those behind them run in it already.
  static void set(ArrayRef<PlanCommand> commands, size_t own, ArrayRef<PlanCommand> carried, const SectionEvents &events,
                  const llvm::DenseMap<Operation *, int64_t> &numbers) {
    auto getNumbers = [&](ArrayRef<int> awaited, ArrayRef<PlanCommand> recorders) {
      auto found = llvm::map_to_vector(awaited, [&](int index) { return numbers.lookup(recorders[index].op); });
      llvm::sort(found);
      return found;
    };
    for (auto [index, command] : llvm::enumerate(commands)) {
      if (index >= own) {
        cast<plan::CollectiveOp>(command.op).setEarly(getNumbers(events.waits[index], commands));
        continue;
      }
      auto number = numbers.find(command.op);
      setEvents(command.op, getNumbers(events.waits[index], commands), getNumbers(events.carried[index], carried),
                number == numbers.end() ? std::nullopt : std::optional(number->second));
    }
  }

  /// The last command of each queue whose access must end before the command starts.
  static QueueClock findConflicts(LastAccesses &bytes, const PlanCommand &command,
                                  ArrayRef<int64_t> addresses) {
    QueueClock needed = makeEmptyClock();
    for (const BufferAccess &access : command.accesses) {
      int64_t address = addresses[access.buffer];
      bytes.visit(address + access.begin, address + access.end, [&](const LastAccesses::Range &range) {
        for (int queue = 0; queue <= kCarried; ++queue) {
          needed[queue] = std::max(needed[queue], range.writes[queue]);
          if (access.write)
            needed[queue] = std::max(needed[queue], range.reads[queue]);
        }
      });
    }
    return needed;
  }

  static void noteAccesses(LastAccesses &bytes, const PlanCommand &command, ArrayRef<int64_t> addresses,
                           int queue, int index) {
    for (const BufferAccess &access : command.accesses) {
      int64_t address = addresses[access.buffer];
      bytes.visit(address + access.begin, address + access.end, [&](LastAccesses::Range &range) {
        (access.write ? range.writes : range.reads)[queue] = index;
      });
    }
  }
};

} // namespace
} // namespace zero
