//===- Verify.cpp - plan-verify -------------------------------------------===//
//
// Changes nothing. What it refuses, for example (buffers of 64 bytes):
//
//   plan.dispatch "fill" on compute reads [] writes [#plan.slice<@a, 0, 64>] waits []
//   plan.collective all_gather f32 on gather <@a, 0, 32> to <@b, 0, 64> waits []
//   error: reads bytes 0..32 of @a, which an earlier command of queue compute writes, and no event orders them
//
// The proof is its own (it shares no code with plan-insert-events): the bytes of a section are cut at all
// ends of accesses into elementary ranges; in each range every access is held against the last conflicting
// one of every other queue. Steps: the number of ranges that the accesses span.
//
//===----------------------------------------------------------------------===//
#include "zero/Analysis/PlanMemory.h"
#include "zero/Transforms/Plan/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zero {
#define GEN_PASS_DEF_PLANVERIFY
#include "zero/Transforms/Plan/Passes.h.inc"

namespace {

constexpr int kQueues = plan::getMaxEnumValForQueueKind() + 1;

/// An access in one elementary range.
struct RangeAccess {
  int command;
  unsigned buffer;
  bool write;
};

std::string describe(plan::BufferOp buffer) { return "@" + buffer.getSymName().str(); }

/// Names and numbers: everything that one record says of another.
class RecordVerifier {
public:
  explicit RecordVerifier(ModuleOp module)
      : module(module), symbols(module), worldSize(getWorldSize(module)) {}

  LogicalResult run() {
    for (Operation &op : *module.getBody()) {
      LogicalResult result = TypeSwitch<Operation *, LogicalResult>(&op)
                                 .Case([&](plan::BufferOp buffer) { return check(buffer); })
                                 .Case<plan::InputOp, plan::OutputOp, plan::StateOp, plan::StepScalarOp, plan::StepResultOp>(
                                     [&](auto record) { return checkSlice(record, record.getSlice()); })
                                 .Case([&](plan::SectionOp section) { return check(section); })
                                 .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    return success();
  }

private:
  LogicalResult check(plan::BufferOp buffer) {
    auto arena = symbols.lookup<plan::ArenaOp>(buffer.getArena());
    if (!arena)
      return buffer.emitError() << "buffer " << describe(buffer) << " is in arena @" << buffer.getArena()
                                << ", which is not there";
    if (!buffer.getOffset())
      return buffer.emitError() << "buffer " << describe(buffer)
                                << " has no offset; plan-assign-offsets gives it one";
    uint64_t end = *buffer.getOffset() + buffer.getSizeBytes();
    if (end <= arena.getSizeBytes())
      return success();
    auto error = buffer.emitError() << "buffer " << describe(buffer) << " ends at byte " << end
                                    << " of arena @" << buffer.getArena() << ", which has "
                                    << arena.getSizeBytes();
    error.attachNote(arena.getLoc()) << "the arena is here";
    return error;
  }

  LogicalResult checkSlice(Operation *op, plan::SliceAttr slice) {
    auto buffer = symbols.lookup<plan::BufferOp>(slice.getBuffer().getAttr());
    if (!buffer)
      return op->emitError() << "names buffer @" << slice.getBuffer().getValue() << ", which is not there";
    if (slice.getOffset() < 0 || slice.getSize() < 0 || slice.getRankStride() < 0)
      return op->emitError() << "has a slice of @" << slice.getBuffer().getValue() << " with offset "
                             << slice.getOffset() << ", size " << slice.getSize() << " and rank stride "
                             << slice.getRankStride() << ", none of which may be negative";
    int64_t end = slice.getOffset() + slice.getSize() + slice.getRankStride() * (worldSize - 1);
    if (end <= static_cast<int64_t>(buffer.getSizeBytes()))
      return success();
    auto error = op->emitError() << "has a slice that ends at byte " << end << " of buffer "
                                 << describe(buffer) << ", which has " << buffer.getSizeBytes();
    error.attachNote(buffer.getLoc()) << "the buffer is here";
    return error;
  }

  LogicalResult check(plan::SectionOp section) {
    DenseMap<int64_t, Operation *> recorded;
    std::array<int64_t, kQueues> sequences = {};
    SmallVector<plan::SliceAttr> reads, writes;
    for (Operation &op : section.getBody().front()) {
      if (!isa<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(op))
        return op.emitError() << "'" << op.getName() << "' is no command";
      reads.clear();
      writes.clear();
      getSlices(&op, reads, writes);
      for (plan::SliceAttr slice : llvm::concat<plan::SliceAttr>(reads, writes))
        if (failed(checkSlice(&op, slice)))
          return failure();
      for (int64_t event : getWaits(&op)) {
        auto it = recorded.find(event);
        if (it == recorded.end())
          return op.emitError() << "waits for event " << event << ", which no earlier command of section @"
                                << section.getSymName() << " records";
        if (getQueue(it->second) == getQueue(&op))
          return op.emitError() << "waits for event " << event << " of its own queue";
      }
      if (std::optional<int64_t> event = getRecord(&op)) {
        auto [it, inserted] = recorded.try_emplace(*event, &op);
        if (!inserted) {
          auto error = op.emitError() << "records event " << *event << " again";
          error.attachNote(it->second->getLoc()) << "it is recorded here already";
          return error;
        }
      }
      auto collective = dyn_cast<plan::CollectiveOp>(op);
      if (!collective)
        continue;
      int64_t &next = sequences[static_cast<int>(collective.getQueue())];
      if (static_cast<int64_t>(collective.getSequence()) != next)
        return op.emitError() << "has sequence number " << collective.getSequence()
                              << " on the channel of queue "
                              << plan::stringifyQueueKind(collective.getQueue()) << ", which is at " << next;
      ++next;
    }
    return success();
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t worldSize;
};

/// Order and contents of the bytes of one section.
class SectionVerifier {
public:
  SectionVerifier(const PlanMemory &memory, ArrayRef<std::pair<int64_t, int64_t>> places, unsigned section)
      : memory(memory), places(places), section(section), commands(memory.getCommands(section)) {}

  LogicalResult run() {
    computeOrder();
    cutRanges();
    for (size_t range = 0; range + 1 < ends.size(); ++range)
      if (failed(checkOrder(range)) || failed(checkContents(range)))
        return failure();
    return success();
  }

private:
  /// For each command: how many commands of each queue, from its first on, have ended when it starts.
  void computeOrder() {
    std::array<int, kQueues> counts = {};
    std::array<int, kQueues> lasts;
    lasts.fill(-1);
    DenseMap<int64_t, int> recorder;
    before.resize(commands.size());
    position.resize(commands.size());
    for (auto [index, command] : llvm::enumerate(commands)) {
      int queue = static_cast<int>(command.queue);
      auto join = [&](int other) {
        for (int each = 0; each < kQueues; ++each)
          before[index][each] = std::max(before[index][each], before[other][each]);
        int of = static_cast<int>(commands[other].queue);
        before[index][of] = std::max(before[index][of], position[other] + 1);
      };
      before[index].fill(0);
      if (lasts[queue] >= 0)
        join(lasts[queue]);
      for (int64_t event : getWaits(command.op))
        join(recorder.lookup(event));
      position[index] = counts[queue]++;
      lasts[queue] = index;
      if (std::optional<int64_t> event = getRecord(command.op))
        recorder[*event] = index;
    }
  }

  void cutRanges() {
    for (const PlanCommand &command : commands) {
      for (const BufferAccess &access : command.accesses) {
        ends.push_back(address(access, access.begin));
        ends.push_back(address(access, access.end));
      }
    }
    for (plan::OutputOp output : memory.getOutputs(section))
      for (int64_t end : {0, 1})
        ends.push_back(address(output) + end * output.getSlice().getSize());
    llvm::sort(ends);
    ends.erase(llvm::unique(ends), ends.end());
    accesses.resize(ends.size());
    for (auto [index, command] : llvm::enumerate(commands)) {
      for (const BufferAccess &access : command.accesses) {
        size_t from = llvm::lower_bound(ends, address(access, access.begin)) - ends.begin();
        for (size_t range = from; ends[range] < address(access, access.end); ++range)
          accesses[range].push_back({static_cast<int>(index), access.buffer, access.write});
      }
    }
  }

  /// Every two conflicting accesses of different queues are ordered. A queue runs in order: it is enough to
  /// look at the last conflicting access of each other queue.
  LogicalResult checkOrder(size_t range) {
    std::array<std::optional<RangeAccess>, kQueues> lastAccess, lastWrite;
    for (const RangeAccess &access : accesses[range]) {
      int queue = static_cast<int>(commands[access.command].queue);
      for (int other = 0; other < kQueues; ++other) {
        const std::optional<RangeAccess> &conflicting = access.write ? lastAccess[other] : lastWrite[other];
        if (other != queue && conflicting && position[conflicting->command] >= before[access.command][other])
          return reportRace(*conflicting, access, range);
      }
      lastAccess[queue] = access;
      if (access.write)
        lastWrite[queue] = access;
    }
    return success();
  }

  LogicalResult reportRace(const RangeAccess &earlier, const RangeAccess &later, size_t range) {
    Operation *op = commands[later.command].op, *other = commands[earlier.command].op;
    auto [buffer, start] = locate(later.buffer, range);
    auto error = op->emitError() << (later.write ? "writes" : "reads") << " bytes " << start << ".."
                                 << start + ends[range + 1] - ends[range] << " of " << describe(buffer)
                                 << ", which an earlier command of queue "
                                 << plan::stringifyQueueKind(commands[earlier.command].queue)
                                 << (earlier.write ? " writes" : " reads");
    if (earlier.buffer != later.buffer)
      error << " as " << describe(memory.getBuffers()[earlier.buffer]);
    error << ", and no event orders them";
    error.attachNote(other->getLoc()) << "the earlier command is here";
    return error;
  }

  /// What is read was written through the same buffer, or is a state's that nothing has overwritten.
  LogicalResult checkContents(size_t range) {
    constexpr int kNobody = -1;
    int owner = kNobody, writer = kNobody;
    // A command reads before it writes, whatever the order of its slices.
    ArrayRef<RangeAccess> list = accesses[range];
    for (size_t begin = 0; begin < list.size();) {
      size_t end = begin;
      while (end < list.size() && list[end].command == list[begin].command)
        ++end;
      for (const RangeAccess &access : list.slice(begin, end - begin)) {
        if (access.write || owner == static_cast<int>(access.buffer))
          continue;
        plan::BufferOp buffer = memory.getBuffers()[access.buffer];
        if (owner == kNobody && buffer.getState())
          continue;
        return reportContents(access, owner, writer, range);
      }
      for (const RangeAccess &access : list.slice(begin, end - begin)) {
        if (!access.write)
          continue;
        owner = access.buffer;
        writer = access.command;
      }
      begin = end;
    }
    return checkOutputs(range, owner, writer);
  }

  /// What is read after the section is what was written to the output's own buffer last.
  LogicalResult checkOutputs(size_t range, int owner, int writer) {
    for (plan::OutputOp output : memory.getOutputs(section)) {
      unsigned number = *memory.findBuffer(output.getSlice().getBuffer());
      if (ends[range] < address(output) || ends[range] >= address(output) + output.getSlice().getSize() ||
          owner == static_cast<int>(number))
        continue;
      auto [buffer, start] = locate(number, range);
      auto error = output.emitError() << "output '" << output.getName() << "' is read from bytes " << start << ".."
                                      << start + ends[range + 1] - ends[range] << " of " << describe(buffer);
      if (owner < 0)
        return error << ", which no command of section @" << name() << " writes";
      error << ", which hold what was written to " << describe(memory.getBuffers()[owner]);
      error.attachNote(commands[writer].op->getLoc()) << "it is written here";
      return error;
    }
    return success();
  }

  LogicalResult reportContents(const RangeAccess &access, int owner, int writer, size_t range) {
    auto [buffer, start] = locate(access.buffer, range);
    auto error = commands[access.command].op->emitError()
                 << "reads bytes " << start << ".." << start + ends[range + 1] - ends[range] << " of "
                 << describe(buffer);
    if (owner < 0) {
      error << ", which no earlier command of section @" << name() << " writes";
      return error;
    }
    error << ", which hold what was written to " << describe(memory.getBuffers()[owner]);
    error.attachNote(commands[writer].op->getLoc()) << "it is written here";
    return error;
  }

  std::pair<plan::BufferOp, int64_t> locate(unsigned buffer, size_t range) const {
    return {memory.getBuffers()[buffer], ends[range] - places[buffer].first};
  }
  int64_t address(const BufferAccess &access, int64_t offset) const {
    return places[access.buffer].first + offset;
  }
  int64_t address(plan::OutputOp output) const {
    return places[*memory.findBuffer(output.getSlice().getBuffer())].first + output.getSlice().getOffset();
  }
  StringRef name() const { return plan::SectionOp(memory.getSections()[section]).getSymName(); }

  const PlanMemory &memory;
  ArrayRef<std::pair<int64_t, int64_t>> places; // first and last address of each buffer
  unsigned section;
  ArrayRef<PlanCommand> commands;
  std::vector<std::array<int, kQueues>> before;
  std::vector<int> position; // of the command in its queue
  std::vector<int64_t> ends;
  std::vector<SmallVector<RangeAccess>> accesses; // of each elementary range, in program order
};

class PlanVerify : public impl::PlanVerifyBase<PlanVerify> {
public:
  using PlanVerifyBase::PlanVerifyBase;
  void runOnOperation() override {
    if (failed(RecordVerifier(getOperation()).run()))
      return signalPassFailure();
    PlanMemory memory(getOperation());
    llvm::StringMap<int64_t> arenaStarts;
    int64_t start = 0;
    for (auto arena : getOperation().getOps<plan::ArenaOp>()) {
      arenaStarts[arena.getSymName()] = start;
      start += arena.getSizeBytes();
    }
    SmallVector<std::pair<int64_t, int64_t>> places;
    for (plan::BufferOp buffer : memory.getBuffers()) {
      int64_t first = arenaStarts.lookup(buffer.getArena()) + *buffer.getOffset();
      places.push_back({first, first + static_cast<int64_t>(buffer.getSizeBytes())});
    }
    if (failed(checkStates(memory, places)))
      return signalPassFailure();
    for (unsigned section = 0; section < memory.getSections().size(); ++section)
      if (failed(SectionVerifier(memory, places, section).run()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  /// No buffer shares bytes with a state: a state lives for the whole run.
  LogicalResult checkStates(const PlanMemory &memory, ArrayRef<std::pair<int64_t, int64_t>> places) {
    SmallVector<unsigned> order;
    for (unsigned buffer = 0; buffer < places.size(); ++buffer)
      if (places[buffer].first < places[buffer].second)
        order.push_back(buffer);
    llvm::sort(order, [&](unsigned a, unsigned b) { return places[a] < places[b]; });
    // The state and the other buffer that reach furthest so far.
    std::optional<unsigned> furthest, furthestState;
    auto extend = [&](std::optional<unsigned> &to, unsigned buffer) {
      if (!to || places[buffer].second > places[*to].second)
        to = buffer;
    };
    for (unsigned number : order) {
      plan::BufferOp buffer = memory.getBuffers()[number];
      std::optional<unsigned> other = buffer.getState() ? furthest : furthestState;
      if (other && places[*other].second > places[number].first) {
        plan::BufferOp first = memory.getBuffers()[*other];
        auto error = buffer.emitError()
                     << "buffer " << describe(buffer) << " begins at byte " << *buffer.getOffset()
                     << ", before " << describe(first) << " ends at "
                     << *first.getOffset() + first.getSizeBytes() << ", and "
                     << describe(buffer.getState() ? buffer : first) << " is a state";
        error.attachNote(first.getLoc()) << "the other buffer is here";
        return error;
      }
      extend(furthest, number);
      if (buffer.getState())
        extend(furthestState, number);
    }
    return success();
  }
};

} // namespace
} // namespace zero
