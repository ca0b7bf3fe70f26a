//===- PlanReport.cpp - All that is known about a plan before it runs -----===//
#include "zero/Analysis/PlanReport.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Analysis/UserNames.h"

using namespace mlir;
using zero::plan::ContentClass;

namespace zero {

int64_t ReportSection::getDuration() const {
  int64_t end = 0;
  for (const ReportCommand &command : commands)
    end = std::max(end, command.time.end());
  return end;
}

int64_t ReportSection::getFlops() const {
  int64_t flops = 0;
  for (const ReportCommand &command : commands)
    flops += command.cost.flops;
  return flops;
}

int64_t PlanReport::getStepFlops() const {
  int64_t flops = 0;
  for (const ReportSection &section : sections)
    flops += section.runsPerStep * section.getFlops();
  return flops;
}

std::vector<KindTotal> PlanReport::getKinds() const {
  llvm::StringMap<KindTotal> kinds;
  for (const ReportSection &section : sections)
    for (const ReportCommand &command : section.commands) {
      KindTotal &total = kinds[command.kind];
      total.kind = command.kind;
      total.commands += section.runsPerStep;
      total.flops += section.runsPerStep * command.cost.flops;
      total.moved += section.runsPerStep * (command.cost.bytesRead + command.cost.bytesWritten);
      total.wire += section.runsPerStep * command.cost.wireBytes;
      total.duration += section.runsPerStep * command.time.duration;
    }
  std::vector<KindTotal> sorted;
  for (const auto &entry : kinds)
    if (entry.second.commands)
      sorted.push_back(entry.second);
  llvm::sort(sorted, [](const KindTotal &a, const KindTotal &b) { return std::tuple(-a.duration, a.kind) < std::tuple(-b.duration, b.kind); });
  return sorted;
}

//===----------------------------------------------------------------------===//
// Titles
//===----------------------------------------------------------------------===//

static std::string withNames(StringRef what, Location loc) {
  std::string names = describeUserNames(loc);
  return names.empty() ? what.str() : what.str() + " " + names;
}

CommandTitles::CommandTitles(ModuleOp module) {
  for (sharding::BucketOp bucket : module.getOps<sharding::BucketOp>()) {
    std::string &title = buckets[bucket.getSymName()] = bucket.getSymName().str();
    size_t parameters = bucket.getSlots().size();
    if (parameters == 0)
      continue;
    title += " (" + cast<sharding::SlotAttr>(bucket.getSlots()[0]).getName().str();
    title += parameters > 1 ? " and " + std::to_string(parameters - 1) + " more)" : ")";
  }
}

std::string CommandTitles::get(plan::CollectiveKind kind, StringRef label) const {
  auto bucket = buckets.find(label);
  return (plan::stringifyCollectiveKind(kind) + " " + (bucket == buckets.end() ? label : StringRef(bucket->second))).str();
}

std::string CommandTitles::get(Operation *command) const {
  return TypeSwitch<Operation *, std::string>(command)
      .Case([](plan::DispatchOp op) { return withNames(op.getKernel(), op.getLoc()); })
      .Case([&](plan::CollectiveOp op) { return get(op.getKind(), op.getLabel()); })
      .Case([](plan::CopyOp op) { return withNames(("copy: " + op.getReason()).str(), op.getLoc()); })
      .Case([](plan::ZeroOp op) { return withNames("zero", op.getLoc()); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What is alive during each command, padding of buffers as class `padding`.
static std::vector<std::vector<BytesByClass>> computeLiveBytes(const PlanMemory &memory, plan::ArenaOp arena,
                                                               ArrayRef<SmallVector<LiveRange, 1>> ranges) {
  BytesByClass states = {};
  std::vector<std::vector<BytesByClass>> live(memory.getSections().size());
  for (unsigned section = 0; section < live.size(); ++section)
    live[section].resize(memory.getCommands(section).size() + 1); // changes first, sums below
  for (auto [number, each] : llvm::enumerate(memory.getBuffers())) {
    plan::BufferOp buffer = each;
    if (buffer.getArena() != arena.getSymName())
      continue;
    int64_t padding = buffer.getPaddingBytes(), held = buffer.getSizeBytes() - padding;
    auto add = [&](BytesByClass &bytes, int64_t sign) {
      bytes[static_cast<unsigned>(buffer.getContent())] += sign * held;
      bytes[static_cast<unsigned>(ContentClass::padding)] += sign * padding;
    };
    if (buffer.getState())
      add(states, 1);
    for (const LiveRange &range : ranges[number]) {
      add(live[range.section][range.first], 1);
      add(live[range.section][range.last + 1], -1);
    }
  }
  for (std::vector<BytesByClass> &section : live) {
    section.pop_back();
    BytesByClass sum = states;
    for (BytesByClass &bytes : section)
      for (unsigned content = 0; content < kContentClasses; ++content)
        bytes[content] = sum[content] += bytes[content];
  }
  return live;
}

static std::vector<LiveBuffer> findLiveBuffers(const PlanMemory &memory, plan::ArenaOp arena, const ArenaReport &report,
                                               ArrayRef<SmallVector<LiveRange, 1>> ranges) {
  std::vector<LiveBuffer> buffers;
  for (auto [number, each] : llvm::enumerate(memory.getBuffers())) {
    plan::BufferOp buffer = each;
    const LiveRange *alive = llvm::find_if(ranges[number], [&](const LiveRange &range) {
      plan::SectionOp section = memory.getSections()[range.section];
      return section.getSymName() == report.section && range.first <= report.command && report.command <= range.last;
    });
    bool found = alive != ranges[number].end();
    if ((found || buffer.getState()) && buffer.getArena() == arena.getSymName())
      buffers.push_back({buffer.getSymName().str(), buffer.getLabel().str(), buffer.getContent(),
                         static_cast<int64_t>(buffer.getSizeBytes()), static_cast<int64_t>(buffer.getOffset().value_or(0)),
                         found ? alive->first : -1, found ? alive->last : -1});
  }
  llvm::sort(buffers, [](const LiveBuffer &a, const LiveBuffer &b) {
    return std::tuple(-a.bytes, a.offset, a.name) < std::tuple(-b.bytes, b.offset, b.name);
  });
  return buffers;
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

/// Of a bucket that each rank sends (N - 1) / N of, all ranks together send every element N - 1 times.
static void addParameterTraffic(PlanReport &report) {
  const int64_t ranks = getWorldSize(report.module);
  for (sharding::BucketOp bucket : report.module.getOps<sharding::BucketOp>()) {
    int64_t elements = bucket.getElements(), gathered = 0, reduced = 0;
    // What all ranks send of one element in a step: collectives of a bucket may differ in what they send of it.
    for (const CollectiveTraffic &traffic : report.traffic.collectives)
      if (traffic.label == bucket.getSymName())
        (traffic.kind == plan::CollectiveKind::all_gather ? gathered : reduced) += traffic.bytesPerStep * ranks / elements;
    for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>()) {
      report.parameterTraffic.push_back(
          {slot.getName().str(), gathered * slot.getNumElements(), reduced * slot.getNumElements()});
      elements -= slot.getNumElements();
    }
    report.paddingTraffic += (gathered + reduced) * elements;
  }
}

PlanReport::PlanReport(ModuleOp module, const TargetRates &rates)
    : module(module), forwardOnly(isForwardOnly(module)), traffic(computeCommunicationReport(module)), rates(rates) {
  PlanMemory memory(module);
  std::vector<SmallVector<LiveRange, 1>> ranges = memory.computeLiveRanges();
  CommandCosts costs(module);
  step = predictStep(module, costs, rates);
  CommandTitles titles(module);
  for (plan::SectionOp op : memory.getSections()) {
    ReportSection &section = sections.emplace_back();
    section.name = op.getSymName().str();
    section.runsPerStep = getRunsPerStep(op);
    std::vector<PredictedCommand> times = predictTimeline(op, costs, rates);
    for (auto [index, command] : llvm::enumerate(op.getBody().front())) {
      auto dispatch = dyn_cast<plan::DispatchOp>(command);
      section.commands.push_back({plan::stringifyQueueKind(getQueue(&command)).str(), costs.getKind(&command).str(),
                                  dispatch ? dispatch.getKernel().str() : "", titles.get(&command), costs.get(&command),
                                  times[index]});
    }
  }
  for (auto [arena, found] : llvm::zip(module.getOps<plan::ArenaOp>(), computeArenaReports(module))) {
    ArenaDetail detail{found, "", findLiveBuffers(memory, arena, found, ranges), computeLiveBytes(memory, arena, ranges)};
    for (const ReportSection &section : sections)
      if (section.name == found.section)
        detail.peakTitle = section.commands[found.command].title;
    arenas.push_back(std::move(detail));
  }
  addParameterTraffic(*this);
}

} // namespace zero
