//===- MemoryReport.cpp - What a plan takes and what it holds -------------===//
#include "zero/Analysis/MemoryReport.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/PlanMemory.h"
#include <map>

using namespace mlir;
using zero::plan::ContentClass;

namespace zero {

static constexpr unsigned kPadding = static_cast<unsigned>(ContentClass::padding);

/// Adds the buffer's bytes to its class; its padding is counted with what is left of the arena.
static void count(plan::BufferOp buffer, BytesByClass &bytes, int64_t sign = 1) {
  bytes[static_cast<unsigned>(buffer.getContent())] +=
      sign * static_cast<int64_t>(buffer.getSizeBytes() - buffer.getPaddingBytes());
}

SmallVector<ArenaReport> computeArenaReports(ModuleOp module) {
  PlanMemory memory(module);
  std::vector<SmallVector<LiveRange, 1>> ranges = memory.computeLiveRanges();
  SmallVector<ArenaReport> reports;
  for (auto arena : module.getOps<plan::ArenaOp>()) {
    ArenaReport report;
    report.kind = arena.getKind();
    report.arenaBytes = arena.getSizeBytes();
    // Of a step, and of predictions, which never live with a step: what each would take without reuse.
    int64_t stateBytes = 0, declared[2] = {};
    // Buffers that begin and end to live, by place in the program.
    std::map<std::pair<unsigned, int64_t>, SmallVector<std::pair<plan::BufferOp, int>>> changes;
    for (auto [number, buffer] : llvm::enumerate(memory.getBuffers())) {
      if (plan::BufferOp(buffer).getArena() != arena.getSymName())
        continue;
      int64_t aligned = llvm::alignTo(plan::BufferOp(buffer).getSizeBytes(), plan::getBufferAlignment(module));
      if (plan::BufferOp(buffer).getState()) {
        count(buffer, report.bytes);
        stateBytes += aligned;
      } else {
        bool predicts = llvm::all_of(ranges[number], [&](const LiveRange &range) {
          return plan::SectionOp(memory.getSections()[range.section]).getSymName() == "predict";
        });
        declared[predicts] += aligned;
      }
      for (const LiveRange &range : ranges[number]) {
        changes[{range.section, range.first}].push_back({buffer, 1});
        changes[{range.section, range.last + 1}].push_back({buffer, -1});
      }
    }
    report.declaredBytes = stateBytes + std::max(declared[0], declared[1]);
    BytesByClass live = report.bytes;
    int64_t bytes = 0, most = 0;
    for (const auto &[place, buffers] : changes) {
      for (auto [buffer, sign] : buffers) {
        count(buffer, live, sign);
        bytes += sign * static_cast<int64_t>(buffer.getSizeBytes());
      }
      if (bytes <= most)
        continue;
      most = bytes;
      report.bytes = live;
      report.section = plan::SectionOp(memory.getSections()[place.first]).getSymName().str();
      report.command = place.second;
    }
    int64_t elements = 0;
    for (int64_t each : report.bytes)
      elements += each;
    report.bytes[kPadding] += report.arenaBytes - elements;
    reports.push_back(std::move(report));
  }
  return reports;
}

ModelStates computeStateReport(ModuleOp module) {
  ModelStates report;
  SymbolTable symbols(module);
  for (auto state : module.getOps<plan::StateOp>()) {
    if (!symbols.lookup<sharding::BucketOp>(state.getName())) // frozen weights, and numbers such as the loss scale
      continue;
    auto buffer = symbols.lookup<plan::BufferOp>(state.getSlice().getBuffer().getAttr());
    int64_t bytes = buffer.getSizeBytes();
    if (buffer.getContent() == ContentClass::parameters)
      report.parameters += bytes;
    else if (buffer.getContent() == ContentClass::gradients)
      report.gradients += bytes;
    else
      report.optimizer += bytes;
  }
  return report;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void printRow(raw_ostream &os, StringRef name, int64_t number, StringRef end = "\n") {
  os << "  " << llvm::left_justify(name, 16) << llvm::right_justify(std::to_string(number), 16) << end;
}

static void printParameters(ModuleOp module, raw_ostream &os) {
  int64_t buckets = 0, parameters = 0, elements = 0, padded = 0;
  for (auto bucket : module.getOps<sharding::BucketOp>()) {
    ++buckets;
    padded += bucket.getElements();
    for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>()) {
      ++parameters;
      elements += slot.getNumElements();
    }
  }
  os << "parameters: " << parameters << " with " << elements << " elements in " << buckets
     << (buckets == 1 ? " bucket" : " buckets") << " (" << padded << " elements with padding)\n";
}

/// How often a micro-batch gathers each bucket, and which gathers of backward passes are dead; nothing where none is gathered there.
static void printGathers(ModuleOp module, const CommunicationReport &sent, raw_ostream &os) {
  bool titled = false;
  for (sharding::BucketOp bucket : module.getOps<sharding::BucketOp>()) {
    int64_t gathers = 0;
    for (const CollectiveTraffic &traffic : sent.collectives)
      if (traffic.kind == plan::CollectiveKind::all_gather && traffic.section == "micro_first" && traffic.label == bucket.getSymName())
        gathers += traffic.perStep;
    if (gathers == 0)
      continue;
    if (!titled)
      os << "\ngathers of parameters in a micro-batch\n";
    titled = true;
    printRow(os, bucket.getSymName(), gathers, /*end=*/"  ");
    os << bucket.getBlock();
    if (auto dead = bucket->getAttrOfType<IntegerAttr>(sharding::kDeadGathersAttrName))
      os << "; " << dead.getInt() << " for the backward pass is dead: nothing there reads it";
    os << "\n";
  }
}

void printReport(ModuleOp module, raw_ostream &os) {
  const bool trains = !isForwardOnly(module);
  os << "ranks: " << getWorldSize(module);
  if (trains) {
    os << ", stage " << getConfigInteger(module, "zero_optimization.stage", 0)
       << ", micro-batches of a step and rank: " << getAccumulationSteps(module) << "\n";
    printParameters(module, os);
  } else {
    os << ", forward pass only\n";
  }
  for (const ArenaReport &report : computeArenaReports(module)) {
    os << "\n" << plan::stringifyMemoryKind(report.kind) << " bytes per rank at the peak";
    if (!report.section.empty())
      os << " (section " << report.section << ", command " << report.command << ")";
    os << "\n";
    for (unsigned content = 0; content < kContentClasses; ++content)
      printRow(os, plan::stringifyContentClass(static_cast<ContentClass>(content)), report.bytes[content]);
    printRow(os, "total", report.arenaBytes);
    printRow(os, "saved by reuse", report.declaredBytes - report.arenaBytes);
  }
  if (!trains)
    return;
  ModelStates states = computeStateReport(module);
  os << "\nstate bytes per rank\n";
  printRow(os, "parameters", states.parameters);
  printRow(os, "gradients", states.gradients);
  printRow(os, "optimizer", states.optimizer);
  printRow(os, "total", states.total());
  CommunicationReport sent = computeCommunicationReport(module);
  printGathers(module, sent, os);
  os << "\nbytes sent per rank and step\n";
  printRow(os, "all_gather", sent.allGather);
  printRow(os, "reduce_scatter", sent.reduceScatter);
  printRow(os, "control", sent.control);
  printRow(os, "total", sent.total());
}

} // namespace zero
