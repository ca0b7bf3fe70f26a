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
//===----------------------------------------------------------------------===//
#include "zero/Analysis/PlanMemory.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANINSERTEVENTS
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

constexpr int kQueues = plan::getMaxEnumValForQueueKind() + 1;
/// The last command of each queue for which something holds; -1: none.
using QueueClock = std::array<int, kQueues>;
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

void setEvents(Operation *command, ArrayRef<int64_t> waits, std::optional<int64_t> record) {
  Builder builder(command->getContext());
  TypeSwitch<Operation *>(command).Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(
      [&](auto op) {
        op.setWaits(waits);
        op.setRecordAttr(record ? builder.getI64IntegerAttr(*record) : IntegerAttr());
      });
}

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
    for (unsigned section = 0; section < memory.getSections().size(); ++section)
      insert(memory.getCommands(section), addresses);
  }

private:
  void insert(ArrayRef<PlanCommand> commands, ArrayRef<int64_t> addresses) {
    LastAccesses bytes;
    QueueClock last = makeEmptyClock();                               // the last command of each queue
    std::vector<QueueClock> ended(commands.size(), makeEmptyClock()); // with each command, itself included
    std::vector<SmallVector<int>> waits(commands.size());
    std::vector<bool> records(commands.size());
    for (auto [index, command] : llvm::enumerate(commands)) {
      int queue = static_cast<int>(command.queue);
      QueueClock known = last[queue] < 0 ? makeEmptyClock() : ended[last[queue]];
      QueueClock needed = findConflicts(bytes, command, addresses);
      for (int other = 0; other < kQueues; ++other) {
        if (other == queue || needed[other] <= known[other])
          continue;
        bool implied = false;
        for (int via = 0; via < kQueues; ++via)
          implied |= via != queue && via != other && needed[via] > known[via] &&
                     ended[needed[via]][other] >= needed[other];
        if (implied)
          continue;
        waits[index].push_back(needed[other]);
        records[needed[other]] = true;
      }
      for (int awaited : waits[index])
        for (int other = 0; other < kQueues; ++other)
          known[other] = std::max(known[other], ended[awaited][other]);
      known[queue] = index;
      ended[index] = known;
      last[queue] = index;
      noteAccesses(bytes, command, addresses, queue, index);
    }
    SmallVector<int64_t> numbers(commands.size());
    int64_t count = 0;
    for (auto [index, recorded] : llvm::enumerate(records))
      if (recorded)
        numbers[index] = count++;
    for (auto [index, command] : llvm::enumerate(commands)) {
      SmallVector<int64_t> waited;
      for (int awaited : waits[index])
        waited.push_back(numbers[awaited]);
      llvm::sort(waited);
      setEvents(command.op, waited, records[index] ? std::optional(numbers[index]) : std::nullopt);
    }
    events += count;
  }

  /// The last command of each queue whose access must end before the command starts.
  static QueueClock findConflicts(LastAccesses &bytes, const PlanCommand &command,
                                  ArrayRef<int64_t> addresses) {
    QueueClock needed = makeEmptyClock();
    for (const BufferAccess &access : command.accesses) {
      int64_t address = addresses[access.buffer];
      bytes.visit(address + access.begin, address + access.end, [&](const LastAccesses::Range &range) {
        for (int queue = 0; queue < kQueues; ++queue) {
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
