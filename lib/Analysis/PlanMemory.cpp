//===- PlanMemory.cpp - Which bytes the commands of a plan touch ----------===//
#include "zero/Analysis/PlanMemory.h"
#include "dialects/Zero/ZeroOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace zero {

plan::QueueKind getQueue(Operation *command) {
  return TypeSwitch<Operation *, plan::QueueKind>(command)
      .Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(
          [](auto op) { return op.getQueue(); });
}

ArrayRef<int64_t> getWaits(Operation *command) {
  return TypeSwitch<Operation *, ArrayRef<int64_t>>(command)
      .Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(
          [](auto op) { return op.getWaits(); });
}

std::optional<int64_t> getRecord(Operation *command) {
  return TypeSwitch<Operation *, std::optional<int64_t>>(command)
      .Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>(
          [](auto op) -> std::optional<int64_t> {
            if (std::optional<uint64_t> record = op.getRecord())
              return *record;
            return std::nullopt;
          });
}

ArrayRef<int64_t> getCarriedWaits(Operation *command) {
  return TypeSwitch<Operation *, ArrayRef<int64_t>>(command)
      .Case<plan::DispatchOp, plan::CollectiveOp, plan::CopyOp, plan::ZeroOp>([](auto op) { return op.getCarried(); });
}

bool isEarly(Operation *command) {
  auto collective = dyn_cast<plan::CollectiveOp>(command);
  return collective && collective.getEarly();
}

ArrayRef<int64_t> getEarlyWaits(Operation *command) {
  return isEarly(command) ? *cast<plan::CollectiveOp>(command).getEarly() : ArrayRef<int64_t>();
}

bool outlastsSection(Operation *command) {
  auto collective = dyn_cast<plan::CollectiveOp>(command);
  return collective && collective.getOutlasts();
}

void getSlices(Operation *command, SmallVectorImpl<plan::SliceAttr> &reads,
               SmallVectorImpl<plan::SliceAttr> &writes) {
  auto append = [](ArrayAttr slices, SmallVectorImpl<plan::SliceAttr> &to) {
    llvm::append_range(to, slices.getAsRange<plan::SliceAttr>());
  };
  TypeSwitch<Operation *>(command)
      .Case([&](plan::DispatchOp op) {
        append(op.getReads(), reads);
        append(op.getWrites(), writes);
      })
      .Case([&](plan::CollectiveOp op) {
        reads.push_back(op.getSource());
        writes.push_back(op.getTarget());
        if (op.getStaging())
          writes.push_back(*op.getStaging());
      })
      .Case([&](plan::CopyOp op) {
        reads.push_back(op.getSource());
        writes.push_back(op.getTarget());
      })
      .Case([&](plan::ZeroOp op) { append(op.getTargets(), writes); });
}

int64_t getWorldSize(ModuleOp module) {
  int64_t size = 1;
  for (auto mesh : module.getOps<sharding::MeshOp>())
    size = mesh.getSize();
  return size;
}

PlanMemory::PlanMemory(ModuleOp module) : worldSize(zero::getWorldSize(module)) {
  for (auto buffer : module.getOps<plan::BufferOp>()) {
    bufferNumbers[FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = buffers.size();
    buffers.push_back(buffer);
  }
  outputs = llvm::to_vector(module.getOps<plan::OutputOp>());
  SmallVector<plan::SliceAttr> reads, writes;
  for (auto section : module.getOps<plan::SectionOp>()) {
    sections.push_back(section);
    std::vector<PlanCommand> &list = commands.emplace_back();
    for (Operation &op : section.getBody().front()) {
      PlanCommand &command = list.emplace_back(PlanCommand{&op, getQueue(&op), {}});
      reads.clear();
      writes.clear();
      getSlices(&op, reads, writes);
      for (plan::SliceAttr slice : reads)
        addAccess(command, slice, /*write=*/false);
      for (plan::SliceAttr slice : writes)
        addAccess(command, slice, /*write=*/true);
    }
  }
}

void PlanMemory::addAccess(PlanCommand &command, plan::SliceAttr slice, bool write) {
  if (slice.getSize() == 0)
    return;
  int64_t end = slice.getOffset() + slice.getSize() + slice.getRankStride() * (worldSize - 1);
  command.accesses.push_back({bufferNumbers.lookup(slice.getBuffer()), slice.getOffset(), end, write});
}

std::vector<PlanCommand> PlanMemory::getCarriedCommands(unsigned section) const {
  std::vector<PlanCommand> carried;
  if (plan::SectionOp(sections[section]).getSymName() != "micro_first")
    return carried;
  for (auto [number, op] : llvm::enumerate(sections))
    if (plan::SectionOp(op).getSymName() == "update")
      llvm::copy_if(commands[number], std::back_inserter(carried), [](const PlanCommand &command) { return outlastsSection(command.op); });
  return carried;
}

std::vector<PlanCommand> PlanMemory::getEarlyCommands(unsigned section) const {
  std::vector<PlanCommand> early;
  if (plan::SectionOp(sections[section]).getSymName() != "update")
    return early;
  for (auto [number, op] : llvm::enumerate(sections))
    if (plan::SectionOp(op).getSymName() == "micro_first")
      llvm::copy_if(commands[number], std::back_inserter(early), [](const PlanCommand &command) { return isEarly(command.op); });
  return early;
}

ArrayRef<plan::OutputOp> PlanMemory::getOutputs(unsigned section) const {
  plan::SectionOp op = sections[section];
  return op.getSymName() == "predict" ? ArrayRef(outputs) : ArrayRef<plan::OutputOp>();
}

std::optional<unsigned> PlanMemory::findBuffer(FlatSymbolRefAttr name) const {
  auto it = bufferNumbers.find(name);
  return it == bufferNumbers.end() ? std::nullopt : std::optional<unsigned>(it->second);
}

void PlanMemory::addEarlyRanges(unsigned section, std::vector<SmallVector<LiveRange, 1>> &ranges) const {
  std::vector<PlanCommand> early = getEarlyCommands(section);
  if (early.empty())
    return;
  llvm::DenseMap<unsigned, int64_t> written; // behind the last command that writes a buffer
  for (auto [index, command] : llvm::enumerate(commands[section]))
    for (const BufferAccess &access : command.accesses)
      if (access.write)
        written[access.buffer] = index + 1;
  const int64_t last = static_cast<int64_t>(commands[section].size()) - 1;
  int64_t first = 0; // each gather stands behind those before it
  for (const PlanCommand &command : early) {
    for (const BufferAccess &access : command.accesses)
      if (!access.write)
        first = std::max(first, written.lookup(access.buffer));
    for (const BufferAccess &access : command.accesses)
      if (!plan::BufferOp(buffers[access.buffer]).getState() && first <= last)
        ranges[access.buffer].push_back({section, first, last});
  }
}

std::vector<SmallVector<LiveRange, 1>> PlanMemory::computeLiveRanges() const {
  std::vector<SmallVector<LiveRange, 1>> ranges(buffers.size());
  for (unsigned section = 0; section < sections.size(); ++section) {
    for (auto [index, command] : llvm::enumerate(commands[section])) {
      int64_t at = index, last = at;
      if (auto collective = dyn_cast<plan::CollectiveOp>(command.op))
        if (std::optional<uint64_t> awaited = collective.getAwaitedAt())
          last = std::max<int64_t>(at, static_cast<int64_t>(*awaited) - 1);
      for (const BufferAccess &access : command.accesses) {
        if (plan::BufferOp(buffers[access.buffer]).getState())
          continue;
        SmallVector<LiveRange, 1> &of = ranges[access.buffer];
        if (of.empty() || of.back().section != section)
          of.push_back({section, at, last});
        of.back().last = std::max(of.back().last, last);
      }
    }
    addEarlyRanges(section, ranges);
    for (plan::OutputOp output : getOutputs(section))
      if (std::optional<unsigned> buffer = findBuffer(output.getSlice().getBuffer()))
        for (LiveRange &range : ranges[*buffer])
          if (range.section == section)
            range.last = commands[section].size() - 1;
  }
  return ranges;
}

} // namespace zero
