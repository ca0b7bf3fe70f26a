//===- VerifyBytes.cpp - The part of plan-verify about bytes --------------===//
//
// One walk over the commands of each section, in program order. For every byte it knows who wrote it last, who read it since
// (each later access must come after them by queues and events), through which buffer, and what it is to the same byte of the
// other ranks. Queues are idle between sections, so that a section begins with what the one before it left; only collectives
// that outlast `update` may still run in `micro_first`, where they stand before its first command, and early gathers of `micro_first` run
// in `update`, where they stand behind its last one. Each command
// visits the ranges of the bytes that it touches, and a write leaves one: near-linear.
//
//===----------------------------------------------------------------------===//
#include "VerifyBytes.h"
#include "BufferAddresses.h"
#include "ByteMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace zero {
namespace {

/// A slice with its addresses; `begin` to `end` are those of all ranks. `count`: its elements where a generated kernel says
/// what they are, else its bytes.
struct SliceAccess {
  unsigned buffer;
  int64_t begin, end, size, stride, count;
  bool write;
};

/// Roles of states that live from step to step; the others are of one step.
bool isPersistent(StringRef role) { return role != "gradient"; }

class BytesVerifier {
public:
  explicit BytesVerifier(ModuleOp module)
      : module(module), symbols(module), memory(module), worldSize(memory.getWorldSize()), states(module.getOps<plan::StateOp>()),
        addresses(getBufferAddresses(module, memory)) {}

  LogicalResult run() {
    if (failed(checkStatesApart()))
      return failure();
    std::map<StringRef, unsigned> sections;
    for (auto [number, section] : llvm::enumerate(memory.getSections()))
      sections[plan::SectionOp(section).getSymName()] = number;
    auto find = [&](StringRef name) {
      auto it = sections.find(name);
      return it == sections.end() ? std::optional<unsigned>() : it->second;
    };
    ByteMap left; // by the sections of a step so far
    if (std::optional<unsigned> first = find("micro_first"); first && failed(runSection(*first, left)))
      return failure();
    if (std::optional<unsigned> next = find("micro_next")) {
      // The second run begins with what the first left, the third with what the second did.
      ByteMap once = left;
      if (failed(runSection(*next, once)) || failed(checkRepeats(*next, left, once)))
        return failure();
      left = once;
    }
    if (std::optional<unsigned> update = find("update");
        update && (failed(runSection(*update, left)) || failed(checkStep(*update, left))))
      return failure();
    ByteMap idle;
    if (std::optional<unsigned> predict = find("predict"); predict && failed(runSection(*predict, idle)))
      return failure();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // What a section begins with
  //===--------------------------------------------------------------------===//

  int64_t getAddress(plan::SliceAttr slice) const {
    return addresses[*memory.findBuffer(slice.getBuffer())] + slice.getOffset();
  }
  /// The bytes of all ranks, as one range.
  std::pair<int64_t, int64_t> getRange(plan::SliceAttr slice) const {
    int64_t begin = getAddress(slice);
    return {begin, slice.getSize() == 0 ? begin : begin + slice.getSize() + slice.getRankStride() * (worldSize - 1)};
  }

  static ByteRelation getRelation(plan::StateOp state) {
    return state.getSharded() ? ByteRelation::Range : ByteRelation::Same;
  }

  void enter(ByteMap &bytes, plan::SliceAttr slice, ByteContents contents) const {
    contents.owner = *memory.findBuffer(slice.getBuffer());
    if (slice.getRankStride() != 0) {
      contents.first = getAddress(slice);
      contents.size = slice.getSize();
      contents.stride = slice.getRankStride();
    }
    ByteRange range;
    range.contents = contents;
    auto [begin, end] = getRange(slice);
    bytes.assign(begin, end, range);
  }

  /// What a section finds of what one before it left: what is no sum over the ranks is this rank's own.
  ByteContents getLeft(const ByteRange &range) const {
    ByteContents contents = range.contents;
    contents.updated = false;
    if (!contents.reduced && worldSize > 1)
      contents.relation = ByteRelation::Local;
    return contents;
  }

  /// Of the section before only states are left; the runtime has filled the inputs or written the scalars.
  ByteMap makeEntry(StringRef section, ByteMap &left) {
    ByteMap bytes;
    const bool micro = section.starts_with("micro");
    for (auto [number, buffer] : llvm::enumerate(memory.getBuffers())) {
      if (!plan::BufferOp(buffer).getState() || section == "predict")
        continue;
      int64_t begin = addresses[number];
      (void)left.visit(begin, begin + plan::BufferOp(buffer).getSizeBytes(), [&](int64_t from, int64_t to, ByteRange &range) {
        ByteRange kept;
        kept.contents = getLeft(range);
        kept.writtenBy = range.writtenBy;
        bytes.assign(from, to, kept);
        return success();
      });
    }
    for (plan::StateOp state : states)
      if (isPersistent(state.getRole()))
        enter(bytes, state.getSlice(), {.relation = getRelation(state)});
    const bool alone = !module.lookupSymbol("micro_first");
    for (auto input : module.getOps<plan::InputOp>()) {
      ByteContents contents{.relation = worldSize > 1 ? ByteRelation::Local : ByteRelation::Same};
      if (micro || (section == "predict" && (input.getPredict() || alone)))
        enter(bytes, input.getSlice(), contents);
      else // the last micro-batch's
        forget(bytes, input.getSlice());
    }
    for (auto scalar : module.getOps<plan::StepScalarOp>()) {
      if (section == "update")
        enter(bytes, scalar.getSlice(), {});
      else
        forget(bytes, scalar.getSlice());
    }
    return bytes;
  }

  void forget(ByteMap &bytes, plan::SliceAttr slice) const {
    auto [begin, end] = getRange(slice);
    bytes.assign(begin, end, {});
  }

  /// No buffer shares bytes with a state: a state lives for the whole run.
  LogicalResult checkStatesApart() const {
    auto getEnd = [&](unsigned number) {
      plan::BufferOp buffer = memory.getBuffers()[number];
      return addresses[number] + static_cast<int64_t>(buffer.getSizeBytes());
    };
    SmallVector<unsigned> order;
    for (unsigned buffer = 0; buffer < addresses.size(); ++buffer)
      if (addresses[buffer] < getEnd(buffer))
        order.push_back(buffer);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::pair(addresses[a], getEnd(a)) < std::pair(addresses[b], getEnd(b));
    });
    // The state and the other buffer that reach furthest so far.
    std::optional<unsigned> furthest, furthestState;
    auto extend = [&](std::optional<unsigned> &to, unsigned buffer) {
      if (!to || getEnd(buffer) > getEnd(*to))
        to = buffer;
    };
    for (unsigned number : order) {
      plan::BufferOp buffer = memory.getBuffers()[number];
      std::optional<unsigned> other = buffer.getState() ? furthest : furthestState;
      if (other && getEnd(*other) > addresses[number]) {
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

  //===--------------------------------------------------------------------===//
  // A section
  //===--------------------------------------------------------------------===//

  /// What a generated kernel computes; null for any other command.
  func::FuncOp findBody(Operation *command) const {
    auto dispatch = dyn_cast<plan::DispatchOp>(command);
    auto kernel = dispatch ? symbols.lookup<plan::KernelOp>(dispatch.getKernel()) : plan::KernelOp();
    return kernel ? symbols.lookup<func::FuncOp>(kernel.getBodyFunction()) : func::FuncOp();
  }

  SmallVector<SliceAccess, 4> getAccesses(Operation *command) const {
    SmallVector<plan::SliceAttr> reads, writes;
    getSlices(command, reads, writes);
    SmallVector<SliceAccess, 4> accesses;
    func::FuncOp body = findBody(command);
    for (auto [write, slices] : {std::pair(false, &reads), std::pair(true, &writes)})
      for (auto [index, slice] : llvm::enumerate(*slices))
        if (slice.getSize() != 0) {
          auto [begin, end] = getRange(slice);
          int64_t count = slice.getSize();
          if (body)
            count = cast<RankedTensorType>(write ? body.getResultTypes()[index] : body.getArgumentTypes()[index]).getNumElements();
          accesses.push_back({*memory.findBuffer(slice.getBuffer()), begin, end, slice.getSize(), slice.getRankStride(), count, write});
        }
    return accesses;
  }

  LogicalResult runSection(unsigned number, ByteMap &left) {
    section = plan::SectionOp(memory.getSections()[number]).getSymName();
    commands = memory.getCarriedCommands(number);
    carried = commands.size();
    llvm::append_range(commands, memory.getCommands(number));
    // What the next section starts with may run here already: behind whatever it touches bytes with.
    std::vector<PlanCommand> early = memory.getEarlyCommands(number);
    llvm::append_range(commands, early);
    ByteMap bytes = makeEntry(section, left);
    CommandOrder order(commands, carried, early.size());
    accesses.clear();
    for (const PlanCommand &command : commands)
      accesses.push_back(getAccesses(command.op));
    for (int index = 0; index < carried; ++index)
      carryOver(index, order, bytes);
    for (int index = carried, count = commands.size(); index < count; ++index)
      if (failed(runCommand(index, order, bytes)))
        return failure();
    for (plan::OutputOp output : memory.getOutputs(number))
      if (failed(checkOutput(output, bytes)))
        return failure();
    if (failed(order.verifyEvents([&](int earlier, int later) { return conflict(earlier, later); },
                                  [&](Operation *recorder) { return isAwaitedInNextStep(recorder); })))
      return failure();
    left = std::move(bytes);
    return checkPersistent(left);
  }

  /// What a section finds is there in the end; until then the command reads and writes.
  void carryOver(int index, const CommandOrder &order, ByteMap &bytes) const {
    for (const SliceAccess &access : accesses[index])
      (void)bytes.visit(access.begin, access.end, [&](int64_t, int64_t, ByteRange &range) {
        if (access.write)
          range.writer = index;
        else
          range.readers[order.getQueue(index)] = index;
        return success();
      });
  }

  /// Whether a command of micro_first waits for what `recorder`, of `update`, records.
  bool isAwaitedInNextStep(Operation *recorder) const {
    if (!outlastsSection(recorder))
      return false;
    auto first = symbols.lookup<plan::SectionOp>("micro_first");
    return first && llvm::any_of(first.getBody().front(), [&](Operation &op) {
             return llvm::is_contained(getCarriedWaits(&op), *getRecord(recorder));
           });
  }

  bool conflict(int earlier, int later) const {
    return llvm::any_of(accesses[earlier], [&](const SliceAccess &a) {
      return llvm::any_of(accesses[later], [&](const SliceAccess &b) {
        return (a.write || b.write) && a.begin < b.end && b.begin < a.end;
      });
    });
  }

  /// What a command read, slice by slice.
  struct ReadContents {
    int64_t count;
    ByteRelation relation = ByteRelation::Same;
    bool reduced = true, updated = true;
    Operation *relationFrom = nullptr, *reducedFrom = nullptr; // who wrote what these follow from; null: nobody, or no command
  };

  LogicalResult runCommand(int index, const CommandOrder &order, ByteMap &bytes) {
    Operation *op = commands[index].op;
    SmallVector<ReadContents, 4> reads;
    for (const SliceAccess &access : accesses[index]) {
      if (access.write)
        continue;
      ReadContents &read = reads.emplace_back(ReadContents{access.count});
      if (failed(bytes.visit(access.begin, access.end, [&](int64_t begin, int64_t end, ByteRange &range) {
            if (failed(checkRace(index, access, order, begin, end, range)) ||
                failed(checkContents(op, "reads", access, begin, end, range)))
              return failure();
            if (failed(checkCounted(op, access, begin, end, range)))
              return failure();
            if (range.contents.relation > read.relation) {
              read.relation = range.contents.relation;
              read.relationFrom = range.writtenBy;
            }
            if (range.contents.reduced && read.reduced)
              read.reducedFrom = range.writtenBy;
            read.reduced &= range.contents.reduced;
            read.updated &= range.contents.updated;
            return success();
          })))
        return failure();
      if (access.stride != 0 && worldSize > 1)
        read.relation = std::max(read.relation, ByteRelation::Range);
    }
    if (failed(checkCollective(op, reads)))
      return failure();
    // Orders before contents: a command may write what it reads.
    for (const SliceAccess &access : accesses[index])
      if (access.write && failed(bytes.visit(access.begin, access.end, [&](int64_t begin, int64_t end, ByteRange &range) {
            return checkRace(index, access, order, begin, end, range);
          })))
        return failure();
    for (const SliceAccess &access : accesses[index]) {
      if (!access.write)
        (void)bytes.visit(access.begin, access.end, [&](int64_t, int64_t, ByteRange &range) {
          range.readers[order.getQueue(index)] = index;
          return success();
        });
    }
    for (const SliceAccess &access : accesses[index])
      if (access.write)
        write(bytes, index, access, reads);
    return success();
  }

  void write(ByteMap &bytes, int index, const SliceAccess &access, ArrayRef<ReadContents> reads) const {
    ByteRange range;
    range.writer = index;
    range.writtenBy = commands[index].op;
    ByteContents &contents = range.contents;
    contents.owner = access.buffer;
    if (access.stride != 0) {
      contents.first = access.begin;
      contents.size = access.size;
      contents.stride = access.stride;
    }
    for (const ReadContents &read : reads)
      contents.relation = std::max(contents.relation, read.relation);
    contents.reduced = !reads.empty() && llvm::all_of(reads, [](const ReadContents &read) { return read.reduced; });
    auto collective = dyn_cast<plan::CollectiveOp>(commands[index].op);
    if (isa<plan::CopyOp>(commands[index].op) || collective)
      contents.updated = !reads.empty() && reads.front().updated;
    else
      contents.updated = section == "update" && llvm::any_of(reads, [&](const ReadContents &read) {
                           return read.reduced && read.count == access.count;
                         });
    if (collective && worldSize > 1) {
      const bool staging = collective.getStaging() && getRange(*collective.getStaging()).first == access.begin &&
                           collective.getTarget() != *collective.getStaging();
      if (staging)
        contents.relation = ByteRelation::Local;
      else if (collective.getKind() == plan::CollectiveKind::reduce_scatter)
        contents.relation = ByteRelation::Range;
      else
        contents.relation = ByteRelation::Same;
      contents.reduced = !staging && (contents.reduced || collective.getKind() != plan::CollectiveKind::all_gather);
    }
    bytes.assign(access.begin, access.end, range);
  }

  //===--------------------------------------------------------------------===//
  // Checks
  //===--------------------------------------------------------------------===//

  /// "bytes 0..64 of @a"
  std::string describe(unsigned buffer, int64_t begin, int64_t end) const {
    return ("bytes " + Twine(begin - addresses[buffer]) + ".." + Twine(end - addresses[buffer]) + " of @" +
            plan::BufferOp(memory.getBuffers()[buffer]).getSymName())
        .str();
  }
  static std::string describe(plan::BufferOp buffer) { return "@" + buffer.getSymName().str(); }

  /// Every earlier access that this one conflicts with has ended. It is enough to look at the last write, which was held
  /// against all before it, and at the last read of each queue since.
  LogicalResult checkRace(int index, const SliceAccess &access, const CommandOrder &order, int64_t begin, int64_t end,
                          const ByteRange &range) {
    int queue = order.getQueue(index);
    auto check = [&](int earlier, bool wrote) -> LogicalResult {
      if (earlier < 0 || order.getQueue(earlier) == queue)
        return success();
      if (order.endsBefore(earlier, index)) {
        auto collective = dyn_cast<plan::CollectiveOp>(commands[earlier].op);
        if (!collective || earlier < carried || !collective.getAwaitedAt() || static_cast<int64_t>(*collective.getAwaitedAt()) <= index - carried)
          return success();
        auto error = commands[index].op->emitError()
                     << "is command " << index - carried << " and " << (access.write ? "writes " : "reads ") << describe(access.buffer, begin, end) << ", which '"
                     << collective.getLabel() << "' has until the program waits for it at command " << *collective.getAwaitedAt()
                     << "; zero-to-plan waits before the first use";
        error.attachNote(collective.getLoc()) << "the collective is here";
        return error;
      }
      auto error = commands[index].op->emitError()
                   << (access.write ? "writes " : "reads ") << describe(access.buffer, begin, end)
                   << (earlier < carried ? ", which a command of queue " : ", which an earlier command of queue ")
                   << plan::stringifyQueueKind(commands[earlier].queue) << (earlier < carried ? " that outlasts @update" : "")
                   << (wrote ? " writes" : " reads");
      if (wrote && range.contents.owner != static_cast<int>(access.buffer))
        error << " as " << describe(memory.getBuffers()[range.contents.owner]);
      error << ", and no event orders them; plan-insert-events makes one";
      error.attachNote(commands[earlier].op->getLoc()) << "the earlier command is here";
      return error;
    };
    if (failed(check(range.writer, true)))
      return failure();
    if (access.write)
      for (int reader : range.readers)
        if (failed(check(reader, false)))
          return failure();
    return success();
  }

  /// What is read was written for this buffer, in this step or for the whole run, and by this rank.
  LogicalResult checkContents(Operation *op, const Twine &reads, const SliceAccess &access, int64_t begin, int64_t end,
                              const ByteRange &range) {
    const ByteContents &contents = range.contents;
    auto fail = [&](const Twine &what) {
      return noteWriter(op->emitError() << reads << " " << describe(access.buffer, begin, end) << ", " << what, range.writtenBy);
    };
    if (contents.owner == ByteContents::kNobody) {
      if (plan::BufferOp(memory.getBuffers()[access.buffer]).getState())
        return fail("which hold nothing at this point of a step: the file and the runtime give nothing, and no earlier command "
                    "of the step writes them; zero-to-plan writes before it reads");
      return fail("which no earlier command of section @" + section + " writes; zero-to-plan writes before it reads");
    }
    if (contents.owner != static_cast<int>(access.buffer))
      return fail("which hold what was written to " + describe(memory.getBuffers()[contents.owner]) +
                  "; plan-assign-offsets keeps apart what lives at once");
    const bool inside = contents.stride == access.stride && access.begin >= contents.first &&
                        access.begin + access.size <= contents.first + contents.size;
    if (contents.stride != 0 && !inside && worldSize > 1)
      return fail("of which each rank has written its own range alone; zero-insert-collectives gathers the others");
    return success();
  }

  /// Says where the bytes are written, if a command does.
  static LogicalResult noteWriter(InFlightDiagnostic error, Operation *writer) {
    if (writer)
      error.attachNote(writer->getLoc()) << "it is written here";
    return error;
  }

  /// A norm is of sums over the ranks.
  LogicalResult checkCounted(Operation *op, const SliceAccess &access, int64_t begin, int64_t end, const ByteRange &range) const {
    auto dispatch = dyn_cast<plan::DispatchOp>(op);
    if (!dispatch || dispatch.getKernel() != "sum_squares" || range.contents.reduced || worldSize == 1)
      return success();
    return noteWriter(op->emitError() << "counts " << describe(access.buffer, begin, end) << ", which are no sum over the ranks yet; zero-insert-collectives reduces first", range.writtenBy);
  }

  /// What is read after the section is what was written to the output's own buffer last.
  LogicalResult checkOutput(plan::OutputOp output, ByteMap &bytes) {
    plan::SliceAttr slice = output.getSlice();
    auto [begin, end] = getRange(slice);
    SliceAccess access{*memory.findBuffer(slice.getBuffer()), begin, end, slice.getSize(), slice.getRankStride(), slice.getSize(), false};
    return bytes.visit(begin, end, [&](int64_t from, int64_t to, ByteRange &range) {
      return checkContents(output, "output '" + output.getName() + "' is read from", access, from, to, range);
    });
  }

  /// A gather is of ranges of one thing, a sum of parts that are not summed yet.
  LogicalResult checkCollective(Operation *op, ArrayRef<ReadContents> reads) const {
    auto collective = dyn_cast<plan::CollectiveOp>(op);
    if (!collective || reads.empty() || worldSize == 1)
      return success();
    const ReadContents &source = reads.front();
    switch (collective.getKind()) {
    case plan::CollectiveKind::all_gather:
      if (source.relation == ByteRelation::Local)
        return noteWriter(op->emitError() << "gathers '" << collective.getLabel()
                                          << "' from what the ranks' own data give; zero-insert-collectives reduces it first",
                          source.relationFrom);
      return success();
    case plan::CollectiveKind::reduce_scatter:
    case plan::CollectiveKind::control_sum:
      // Of shards' sums each rank has its own; a sum of whole buckets all ranks have.
      if (source.reduced && (source.relation == ByteRelation::Same ||
                             collective.getKind() == plan::CollectiveKind::reduce_scatter))
        return noteWriter(op->emitError() << "sums '" << collective.getLabel()
                                          << "' over the ranks, which is a sum over them already; zero-insert-collectives reduces once",
                          source.reducedFrom);
      return success();
    }
    return success();
  }

  /// States that live from step to step are after the section what they were before it.
  LogicalResult checkPersistent(ByteMap &bytes) {
    for (plan::StateOp state : states) {
      if (!isPersistent(state.getRole()))
        continue;
      auto [begin, end] = getRange(state.getSlice());
      if (failed(bytes.visit(begin, end, [&](int64_t from, int64_t to, ByteRange &range) -> LogicalResult {
            const bool own = range.contents.stride != state.getSlice().getRankStride() && worldSize > 1;
            if (range.contents.relation <= getRelation(state) && !own)
              return success();
            auto error = state.emitError() << state.getRole()
                                           << (state.getName().empty() ? "" : " '" + state.getName().str() + "'") << " is "
                                           << (range.contents.relation == ByteRelation::Local
                                                   ? "made from this rank's own data"
                                                   : "not the same on all ranks")
                                           << " after section @" << section << ": "
                                           << describe(*memory.findBuffer(state.getSlice().getBuffer()), from, to)
                                           << "; zero-insert-collectives gathers and reduces";
            return noteWriter(std::move(error), range.writtenBy);
          })))
        return failure();
    }
    return success();
  }

  /// The second micro-batch and those after it begin alike.
  LogicalResult checkRepeats(unsigned number, ByteMap &before, ByteMap &after) {
    for (auto [buffer, op] : llvm::enumerate(memory.getBuffers())) {
      if (!plan::BufferOp(op).getState())
        continue;
      int64_t begin = addresses[buffer];
      LogicalResult result =
          before.visit(begin, begin + plan::BufferOp(op).getSizeBytes(), [&](int64_t from, int64_t to, ByteRange &first) {
            return after.visit(from, to, [&](int64_t from, int64_t to, ByteRange &second) -> LogicalResult {
              // What micro_next alone writes it does not read: its first run would have found nothing there.
              if (first.contents.owner == ByteContents::kNobody || getLeft(first) == getLeft(second))
                return success();
              auto error = plan::SectionOp(memory.getSections()[number]).emitError()
                           << "leaves " << describe(buffer, from, to) << " otherwise than it finds them, but runs again; zero-to-plan adds in place";
              if (second.writtenBy)
                error.attachNote(second.writtenBy->getLoc()) << "they are written here";
              return error;
            });
          });
      if (failed(result))
        return failure();
    }
    return success();
  }

  /// After a step every parameter and every master has got a new value from a reduced gradient, a loss scale that changes one of its own, and
  /// what is printed is the same on all ranks.
  LogicalResult checkStep(unsigned update, ByteMap &bytes) {
    const bool scaleChanges = llvm::any_of(states, [](plan::StateOp state) { return state.getRole() == "scale_window_steps"; });
    for (plan::StateOp state : states) {
      const bool isTrained = state.getRole() == "parameter" || state.getRole() == "master";
      const bool isOfScale = state.getRole() == "loss_scale" || state.getRole() == "scale_window_steps" || state.getRole() == "scale_hysteresis";
      if (!isTrained && !(isOfScale && scaleChanges))
        continue;
      const bool isSummed = isTrained && worldSize > 1; // on one rank nothing is, but a new value there is
      auto [begin, end] = getRange(state.getSlice());
      if (failed(bytes.visit(begin, end, [&](int64_t from, int64_t to, ByteRange &range) -> LogicalResult {
            if (isSummed ? range.contents.updated : range.writer >= 0)
              return success();
            auto error = state.emitError() << state.getRole() << " '" << state.getName() << "' gets no "
                                           << (isSummed ? "value from a sum of its gradients over the ranks" : "new value") << " in section @update: "
                                           << describe(*memory.findBuffer(state.getSlice().getBuffer()), from, to)
                                           << (isTrained ? "; zero-partition-state updates all, zero-insert-collectives reduces first" : "; nn-append-optimizer gives each");
            return noteWriter(std::move(error), range.writer >= 0 ? range.writtenBy : nullptr);
          })))
        return failure();
    }
    for (auto result : module.getOps<plan::StepResultOp>()) {
      plan::SliceAttr slice = result.getSlice();
      auto [begin, end] = getRange(slice);
      SliceAccess access{*memory.findBuffer(slice.getBuffer()), begin, end, slice.getSize(), slice.getRankStride(), slice.getSize(), false};
      std::string what = "step result '" + result.getKind().str() + "' is read from";
      if (failed(bytes.visit(begin, end, [&](int64_t from, int64_t to, ByteRange &range) -> LogicalResult {
            if (failed(checkContents(result, what, access, from, to, range)))
              return failure();
            if (range.contents.relation == ByteRelation::Same)
              return success();
            auto error = result.emitError() << what << " " << describe(access.buffer, from, to)
                                            << ", which are not the same on all ranks; zero-insert-collectives sums them";
            return noteWriter(std::move(error), range.writtenBy);
          })))
        return failure();
    }
    return success();
  }

  ModuleOp module;
  SymbolTable symbols;
  PlanMemory memory;
  int64_t worldSize;
  SmallVector<plan::StateOp> states;
  SmallVector<int64_t> addresses; // of the first byte of each buffer
  // Of the section at work.
  StringRef section;
  std::vector<PlanCommand> commands; // those that outlast the section before come first
  int carried = 0;
  std::vector<SmallVector<SliceAccess, 4>> accesses;
};

} // namespace

LogicalResult verifyBytes(ModuleOp module) { return BytesVerifier(module).run(); }

} // namespace zero
