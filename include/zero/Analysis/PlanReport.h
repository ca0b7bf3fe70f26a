//===- PlanReport.h - All that is known about a plan before it runs -------===//
//
// What `zero-compile --report` writes. The JSON form (format_version 1), keys in this order, sizes with their units:
//
//   format, format_version, model, world_size, zero_stage, micro_batch, accumulation_steps, forward_only, config
//   target                          name; of cuda also deterministic, fast, tf32, product_workspace_bytes, convolutions (cudnn, generated)
//   content_classes                 names; bytes_by_class everywhere follows their order
//   parameters                      count, elements, padded_elements, buckets: name, block, elements, parameters: name, shape, elements,
//                                   offset_elements
//   memory.arenas                   kind, arena_bytes, bytes_by_class (at the peak; sums to arena_bytes), declared_bytes, saved_by_reuse_bytes,
//     peak                          section, command, title, largest_buffers: name, title, content, bytes, offset_bytes, first_command,
//                                   last_command (alive from one to the other; of what lives for the whole run both are -1);
//                                   other_buffers, other_buffer_bytes, gap_bytes (the three sums are arena_bytes)
//     live_bytes_by_class           section -> for each command a row of bytes_by_class, padding of buffers included, gaps not
//   states                          actual and formula: parameters_bytes, gradients_bytes, optimizer_bytes, total_bytes per rank
//   traffic                         all_gather_bytes, reduce_scatter_bytes, control_bytes, total_bytes: sent per rank and step
//     axes                          name, size, bytes
//     collectives                   kind, label, section, title, count (per step), bytes (per rank and step), duration_ns (of all
//                                   of a step, predicted)
//     parameters                    name, all_gather_bytes_all_ranks, reduce_scatter_bytes_all_ranks: per step, summed over ranks, so that they
//                                   are whole numbers; padding_bytes_all_ranks is what buckets send beyond their parameters
//   flops                           micro_batch, update, step (per rank); kinds: kind, step; sections: section, runs_per_step, flops
//   timeline                        uncalibrated, machine (whose rates they are; null where uncalibrated), target, rates:
//                                   product_flops_per_second, attention_flops_per_second, other_flops_per_second, memory_bytes_per_second,
//                                   wire_bytes_per_second, link_bytes_per_second (0: one machine), command_ns, collective_ns;
//                                   step_ns, exposed_communication_ns (of a step: its compute queue waits)
//     kinds                         kind, commands, flops, moved_bytes (read and written), wire_bytes, duration_ns: sums of a step
//     sections                      name, runs_per_step, duration_ns, commands: command, queue, kind, kernel, title, start_ns, duration_ns,
//                                   flops, read_bytes, written_bytes, wire_bytes, omitted_bytes (of them, zeros that messages between machines
//                                   leave out whatever the data)
//
// A forward-only program has no states, traffic counts or steps: those are zero and its section `predict` has runs_per_step 0.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_PLANREPORT_H
#define ZERO_ANALYSIS_PLANREPORT_H

#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/MemoryReport.h"
#include "zero/Analysis/Timeline.h"
#include "llvm/Support/JSON.h"

namespace zero {

/// A buffer that is alive at the peak point. `title` is the user's name of what it holds.
struct LiveBuffer {
  std::string name, title;
  plan::ContentClass content;
  int64_t bytes, offset;
  int64_t first, last; ///< commands of the peak's section; -1 where it lives for the whole run
};

struct ArenaDetail {
  ArenaReport report;
  std::string peakTitle;                         ///< of the command at the peak
  std::vector<LiveBuffer> liveAtPeak;            ///< largest first
  std::vector<std::vector<BytesByClass>> live;   ///< by section and command
};

struct ReportCommand {
  std::string queue, kind, kernel, title;
  CommandCost cost;
  PredictedCommand time;
};

struct ReportSection {
  std::string name;
  int64_t runsPerStep = 0;
  std::vector<ReportCommand> commands;
  int64_t getDuration() const; ///< nanoseconds until the last queue is idle
  int64_t getFlops() const;
};

/// Sums of one kind of command in a step.
struct KindTotal {
  std::string kind;
  int64_t commands = 0, flops = 0, moved = 0, wire = 0, duration = 0;
};

/// What all ranks together send of one parameter in a step.
struct ParameterTraffic {
  std::string name;
  int64_t allGather = 0, reduceScatter = 0;
};

struct PlanReport {
  mlir::ModuleOp module;
  bool forwardOnly;
  std::vector<ArenaDetail> arenas;
  std::vector<ReportSection> sections;
  CommunicationReport traffic;
  std::vector<ParameterTraffic> parameterTraffic;
  int64_t paddingTraffic = 0; ///< of all ranks

  TargetRates rates;  ///< that times are predicted from
  PredictedStep step; ///< nanoseconds

  explicit PlanReport(mlir::ModuleOp module, const TargetRates &rates = getTargetRates());
  int64_t getStepFlops() const;
  /// Longest first.
  std::vector<KindTotal> getKinds() const;
};

/// Names commands as `zero-run --trace` and zero-dump do: "matmul node_addmm", "all_gather b0 (wte.weight and 1 more)".
class CommandTitles {
public:
  explicit CommandTitles(mlir::ModuleOp module);
  std::string get(mlir::Operation *command) const;
  std::string get(plan::CollectiveKind kind, llvm::StringRef label) const;

private:
  llvm::StringMap<std::string> buckets;
};

/// The JSON form, above.
void writeReportJson(const PlanReport &report, llvm::raw_ostream &os);
/// One page that needs nothing else; long sections are drawn in coarser bars.
void writeReportPage(const PlanReport &report, llvm::raw_ostream &os);

} // namespace zero

#endif
