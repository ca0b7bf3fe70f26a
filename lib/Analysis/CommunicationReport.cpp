//===- CommunicationReport.cpp - What a plan sends ------------------------===//
#include "zero/Analysis/CommunicationReport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using zero::plan::CollectiveKind;

namespace zero {

static Attribute getConfigValue(ModuleOp module, StringRef path) {
  Attribute value = module->getAttr("zero.config");
  while (auto dictionary = dyn_cast_or_null<DictionaryAttr>(value)) {
    auto [key, rest] = path.split('.');
    value = dictionary.get(key);
    path = rest;
  }
  return value;
}

int64_t getConfigInteger(ModuleOp module, StringRef path, int64_t otherwise) {
  auto number = dyn_cast_or_null<IntegerAttr>(getConfigValue(module, path));
  return number ? number.getInt() : otherwise;
}

double getConfigNumber(ModuleOp module, StringRef path, double otherwise) {
  Attribute value = getConfigValue(module, path);
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValueAsDouble();
  auto number = dyn_cast_or_null<IntegerAttr>(value);
  return number ? static_cast<double>(number.getInt()) : otherwise;
}

int64_t getAccumulationSteps(ModuleOp module) {
  return getConfigInteger(module, "gradient_accumulation_steps", 1);
}

CommunicationReport computeCommunicationReport(ModuleOp module) {
  CommunicationReport report;
  llvm::MapVector<std::tuple<int, StringRef, StringRef>, CollectiveTraffic> byLabel;
  for (auto section : module.getOps<plan::SectionOp>()) {
    if (section.getSymName() == "predict") // is no part of a step
      continue;
    int64_t times = section.getSymName() == "micro_next" ? getAccumulationSteps(module) - 1 : 1;
    for (auto collective : section.getOps<plan::CollectiveOp>()) {
      int64_t bytes = times * static_cast<int64_t>(collective.getWireBytes());
      switch (collective.getKind()) {
      case CollectiveKind::all_gather:
        report.allGather += bytes;
        break;
      case CollectiveKind::reduce_scatter:
        report.reduceScatter += bytes;
        break;
      case CollectiveKind::control_sum:
        report.control += bytes;
        break;
      }
      CollectiveTraffic &traffic =
          byLabel[{static_cast<int>(collective.getKind()), collective.getLabel(), section.getSymName()}];
      traffic.kind = collective.getKind();
      traffic.label = collective.getLabel().str();
      traffic.section = section.getSymName().str();
      traffic.perStep += times;
      traffic.bytesPerStep += bytes;
    }
  }
  for (auto &entry : byLabel)
    report.collectives.push_back(std::move(entry.second));
  return report;
}

} // namespace zero
