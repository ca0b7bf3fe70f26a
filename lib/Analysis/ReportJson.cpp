//===- ReportJson.cpp - A plan's report as JSON ---------------------------===//
#include "lib/Analysis/ReportJson.h"
#include "dialects/Zero/ZeroOps.h"
#include "zero/Analysis/ConfigAttribute.h"
#include "zero/Analysis/ModelStates.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Analysis/UserNames.h"
#include <map>

using namespace mlir;
using llvm::json::OStream;
using zero::plan::ContentClass;

namespace zero {

void writeRow(OStream &json, llvm::function_ref<void(OStream &)> write) {
  json.rawValue([&](raw_ostream &os) {
    OStream row(os);
    write(row);
  });
}

void writeClasses(OStream &json, StringRef key, const BytesByClass &bytes) {
  json.attributeBegin(key);
  writeRow(json, [&](OStream &row) {
    row.array([&] {
      for (int64_t each : bytes)
        row.value(each);
    });
  });
  json.attributeEnd();
}

void ReportWriter::write() {
  json.object([&] {
    writeModel();
    writeParameters();
    writeMemory();
    writeStates();
    writeTraffic();
    writeFlops();
    writeTimeline();
  });
}

void ReportWriter::writeModel() {
  ModuleOp module = report.module;
  json.attribute("format", "zero-report");
  json.attribute("format_version", 1);
  json.attribute("model", module.getName().value_or(describeUserNames(module.getLoc())));
  json.attribute("world_size", getWorldSize(module));
  json.attribute("zero_stage", getConfigInteger(module, "zero_optimization.stage", 0));
  json.attribute("micro_batch", getConfigInteger(module, "train_micro_batch_size_per_gpu", 1));
  json.attribute("accumulation_steps", report.forwardOnly ? 1 : getAccumulationSteps(module));
  json.attribute("forward_only", report.forwardOnly);
  if (Attribute config = module->getAttr("zero.config"))
    json.attribute("config", convertToJSON(config));
  json.attributeObject("target", [&] {
    const bool isCuda = plan::isForCuda(module);
    json.attribute("name", isCuda ? "cuda" : "cpu");
    if (!isCuda)
      return;
    json.attribute("deterministic", module->hasAttr(plan::kDeterministicAttrName));
    json.attribute("fast", module->hasAttr(plan::kFastAttrName));
    json.attribute("tf32", module->hasAttr(plan::kTf32AttrName));
    json.attribute("product_workspace_bytes", static_cast<int64_t>(plan::getCudaWorkspaceBytes(module)));
    json.attribute("convolutions", module->hasAttr(plan::kCudnnConvolutionsAttrName) ? "cudnn" : "generated");
  });
  json.attributeArray("content_classes", [&] {
    for (unsigned content = 0; content < kContentClasses; ++content)
      json.value(plan::stringifyContentClass(static_cast<ContentClass>(content)));
  });
}

void ReportWriter::writeParameters() {
  int64_t count = 0, elements = 0, padded = 0;
  auto buckets = report.module->getRegion(0).getOps<sharding::BucketOp>();
  for (sharding::BucketOp bucket : buckets) {
    padded += bucket.getElements();
    for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>()) {
      ++count;
      elements += slot.getNumElements();
    }
  }
  json.attributeObject("parameters", [&] {
    json.attribute("count", count);
    json.attribute("elements", elements);
    json.attribute("padded_elements", padded);
    json.attributeArray("buckets", [&] {
      for (sharding::BucketOp bucket : buckets)
        json.object([&] {
          json.attribute("name", bucket.getSymName());
          json.attribute("block", bucket.getBlock());
          json.attribute("elements", bucket.getElements());
          json.attributeArray("parameters", [&] {
            for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>())
              writeRow(json, [&](OStream &row) {
                row.object([&] {
                  row.attribute("name", slot.getName());
                  row.attributeArray("shape", [&] {
                    for (int64_t size : slot.getShape())
                      row.value(size);
                  });
                  row.attribute("elements", slot.getNumElements());
                  row.attribute("offset_elements", slot.getOffset());
                });
              });
          });
        });
    });
  });
}

void ReportWriter::writeMemory() {
  constexpr size_t kLargest = 32;
  json.attributeObject("memory", [&] {
    json.attributeArray("arenas", [&] {
      for (const ArenaDetail &arena : report.arenas)
        json.object([&] {
          json.attribute("kind", plan::stringifyMemoryKind(arena.report.kind));
          json.attribute("arena_bytes", arena.report.arenaBytes);
          writeClasses(json, "bytes_by_class", arena.report.bytes);
          json.attribute("declared_bytes", arena.report.declaredBytes);
          json.attribute("saved_by_reuse_bytes", arena.report.declaredBytes - arena.report.arenaBytes);
          json.attributeObject("peak", [&] {
            int64_t others = 0, left = arena.report.arenaBytes;
            json.attribute("section", arena.report.section);
            json.attribute("command", arena.report.command);
            json.attribute("title", arena.peakTitle);
            json.attributeArray("largest_buffers", [&] {
              for (const LiveBuffer &buffer : ArrayRef(arena.liveAtPeak).take_front(kLargest)) {
                left -= buffer.bytes;
                writeRow(json, [&](OStream &row) {
                  row.object([&] {
                    row.attribute("name", buffer.name);
                    row.attribute("title", buffer.title);
                    row.attribute("content", plan::stringifyContentClass(buffer.content));
                    row.attribute("bytes", buffer.bytes);
                    row.attribute("offset_bytes", buffer.offset);
                    row.attribute("first_command", buffer.first);
                    row.attribute("last_command", buffer.last);
                  });
                });
              }
            });
            ArrayRef<LiveBuffer> rest = ArrayRef(arena.liveAtPeak).drop_front(std::min(kLargest, arena.liveAtPeak.size()));
            for (const LiveBuffer &buffer : rest)
              others += buffer.bytes;
            json.attribute("other_buffers", static_cast<int64_t>(rest.size()));
            json.attribute("other_buffer_bytes", others);
            json.attribute("gap_bytes", left - others);
          });
          writeLiveBytes(arena);
        });
    });
  });
}

void ReportWriter::writeStates() {
  if (report.forwardOnly)
    return;
  auto write = [&](StringRef key, const ModelStates &states) {
    json.attributeObject(key, [&] {
      json.attribute("parameters_bytes", states.parameters);
      json.attribute("gradients_bytes", states.gradients);
      json.attribute("optimizer_bytes", states.optimizer);
      json.attribute("total_bytes", states.total());
    });
  };
  json.attributeObject("states", [&] {
    write("actual", computeStateReport(report.module));
    write("formula", computeModelStates(report.module));
  });
}

void ReportWriter::writeTraffic() {
  CommandTitles titles(report.module);
  std::map<std::pair<std::string, std::string>, int64_t> durations; // of a step, by section and title
  for (const ReportSection &section : report.sections)
    for (const ReportCommand &command : section.commands)
      if (command.cost.wireBytes)
        durations[{section.name, command.title}] += section.runsPerStep * command.time.duration;
  json.attributeObject("traffic", [&] {
    json.attribute("all_gather_bytes", report.traffic.allGather);
    json.attribute("reduce_scatter_bytes", report.traffic.reduceScatter);
    json.attribute("control_bytes", report.traffic.control);
    json.attribute("total_bytes", report.traffic.total());
    json.attributeArray("axes", [&] {
      // One axis yet: all collectives are along it.
      for (sharding::MeshOp mesh : report.module->getRegion(0).getOps<sharding::MeshOp>())
        json.object([&] {
          json.attribute("name", mesh.getSymName());
          json.attribute("size", mesh.getSize());
          json.attribute("bytes", report.traffic.total());
        });
    });
    json.attributeArray("collectives", [&] {
      for (const CollectiveTraffic &traffic : report.traffic.collectives) {
        std::string title = titles.get(traffic.kind, traffic.label);
        writeRow(json, [&](OStream &row) {
          row.object([&] {
            row.attribute("kind", plan::stringifyCollectiveKind(traffic.kind));
            row.attribute("label", traffic.label);
            row.attribute("section", traffic.section);
            row.attribute("title", title);
            row.attribute("count", traffic.perStep);
            row.attribute("bytes", traffic.bytesPerStep);
            row.attribute("duration_ns", durations[{traffic.section, title}]);
          });
        });
      }
    });
    json.attributeArray("parameters", [&] {
      for (const ParameterTraffic &parameter : report.parameterTraffic)
        writeRow(json, [&](OStream &row) {
          row.object([&] {
            row.attribute("name", parameter.name);
            row.attribute("all_gather_bytes_all_ranks", parameter.allGather);
            row.attribute("reduce_scatter_bytes_all_ranks", parameter.reduceScatter);
          });
        });
    });
    json.attribute("padding_bytes_all_ranks", report.paddingTraffic);
  });
}

void ReportWriter::writeFlops() {
  int64_t micro = 0, update = 0;
  for (const ReportSection &section : report.sections) {
    if (section.name == "micro_first")
      micro = section.getFlops();
    if (section.name == "update")
      update = section.getFlops();
  }
  std::vector<KindTotal> kinds = report.getKinds();
  llvm::erase_if(kinds, [](const KindTotal &total) { return total.flops == 0; });
  llvm::sort(kinds, [](const KindTotal &a, const KindTotal &b) { return std::tuple(-a.flops, a.kind) < std::tuple(-b.flops, b.kind); });
  json.attributeObject("flops", [&] {
    json.attribute("micro_batch", micro);
    json.attribute("update", update);
    json.attribute("step", report.getStepFlops());
    json.attributeArray("kinds", [&] {
      for (const KindTotal &total : kinds)
        writeRow(json, [&](OStream &row) {
          row.object([&] {
            row.attribute("kind", total.kind);
            row.attribute("step", total.flops);
          });
        });
    });
    json.attributeArray("sections", [&] {
      for (const ReportSection &section : report.sections)
        writeRow(json, [&](OStream &row) {
          row.object([&] {
            row.attribute("section", section.name);
            row.attribute("runs_per_step", section.runsPerStep);
            row.attribute("flops", section.getFlops());
          });
        });
    });
  });
}

void ReportWriter::writeTimeline() {
  const TargetRates &rates = report.rates;
  json.attributeObject("timeline", [&] {
    json.attribute("uncalibrated", !rates.isCalibrated());
    json.attribute("machine", rates.isCalibrated() ? llvm::json::Value(rates.machine) : llvm::json::Value(nullptr));
    json.attribute("target", rates.target);
    json.attributeObject("rates", [&] {
      json.attribute("product_flops_per_second", rates.productFlopsPerSecond);
      json.attribute("attention_flops_per_second", rates.attentionFlopsPerSecond);
      json.attribute("other_flops_per_second", rates.otherFlopsPerSecond);
      json.attribute("memory_bytes_per_second", rates.memoryBytesPerSecond);
      json.attribute("wire_bytes_per_second", rates.wireBytesPerSecond);
      json.attribute("link_bytes_per_second", rates.linkBytesPerSecond);
      json.attribute("command_ns", std::llround(rates.commandSeconds * 1e9));
      json.attribute("collective_ns", std::llround(rates.collectiveSeconds * 1e9));
    });
    json.attribute("step_ns", report.step.duration);
    json.attribute("exposed_communication_ns", report.step.exposed);
    json.attributeArray("kinds", [&] {
      for (const KindTotal &total : report.getKinds())
        writeRow(json, [&](OStream &row) {
          row.object([&] {
            row.attribute("kind", total.kind);
            row.attribute("commands", total.commands);
            row.attribute("flops", total.flops);
            row.attribute("moved_bytes", total.moved);
            row.attribute("wire_bytes", total.wire);
            row.attribute("duration_ns", total.duration);
          });
        });
    });
    json.attributeArray("sections", [&] {
      for (const ReportSection &section : report.sections)
        json.object([&] {
          json.attribute("name", section.name);
          json.attribute("runs_per_step", section.runsPerStep);
          json.attribute("duration_ns", section.getDuration());
          writeCommands(section);
        });
    });
  });
}

//===----------------------------------------------------------------------===//
// The whole report
//===----------------------------------------------------------------------===//

namespace {

class FullReport final : public ReportWriter {
public:
  using ReportWriter::ReportWriter;

private:
  void writeLiveBytes(const ArenaDetail &arena) override {
    json.attributeObject("live_bytes_by_class", [&] {
      for (auto [section, rows] : llvm::zip(report.sections, arena.live))
        json.attributeArray(section.name, [&, &rows = rows] {
          for (const BytesByClass &bytes : rows)
            writeRow(json, [&](OStream &row) {
              row.array([&] {
                for (int64_t each : bytes)
                  row.value(each);
              });
            });
        });
    });
  }

  void writeCommands(const ReportSection &section) override {
    json.attributeArray("commands", [&] {
      for (auto [index, command] : llvm::enumerate(section.commands))
        writeRow(json, [&, index = index, &command = command](OStream &row) {
          row.object([&] {
            row.attribute("command", static_cast<int64_t>(index));
            row.attribute("queue", command.queue);
            row.attribute("kind", command.kind);
            row.attribute("kernel", command.kernel);
            row.attribute("title", command.title);
            row.attribute("start_ns", command.time.start);
            row.attribute("duration_ns", command.time.duration);
            row.attribute("flops", command.cost.flops);
            row.attribute("read_bytes", command.cost.bytesRead);
            row.attribute("written_bytes", command.cost.bytesWritten);
            row.attribute("wire_bytes", command.cost.wireBytes);
            row.attribute("omitted_bytes", command.cost.omittedBytes);
          });
        });
    });
  }
};

} // namespace

void writeReportJson(const PlanReport &report, raw_ostream &os) {
  OStream json(os, /*IndentSize=*/2);
  FullReport(report, json).write();
  os << "\n";
}

} // namespace zero
