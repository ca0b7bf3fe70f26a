//===- Commands.h - The records of a plan, ready to run -------------------===//
//
// Everything is resolved when a command is made: pointers, kernels, channels. Running one allocates nothing.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_COMMANDS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_COMMANDS_H

#include "lib/Runtime/Executor/CommunicationClock.h"
#include "lib/Runtime/Executor/Memory.h"
#include "lib/Runtime/Executor/Sections.h"
#include "lib/Runtime/Executor/Trace.h"
#include "zero/Runtime/Executor/Executor.h"
#include "zero/Runtime/HAL/StreamMarks.h"
#include <array>
#include <atomic>

namespace zero {

/// A command with its label ("matmul", "all_gather b2"), timed on the host where a trace asks for it. Of a device with streams, running
/// it puts it on its queue's stream.
class CommandWork : public Work {
public:
  Status run() final;
  const std::string &name() const { return label; }
  /// Which algorithm a library was told to use, for people; empty where none was.
  virtual std::string algorithm() const { return ""; }

protected:
  virtual Status execute() = 0;

private:
  friend class CommandFactory;
  std::string label, origin; ///< `origin`: where errors say that it came from
  size_t queue = 0;
  Trace *trace = nullptr;
  uint32_t tracedAs = 0;
};

using MadeCommand = Expected<std::unique_ptr<CommandWork>>;

/// Bytes sent so far and time taken; queues count at the same time. A collective's bytes are counted from when it is handed to its queue
/// (`add`), and it fails where it sends another number.
struct TrafficCounters {
  std::atomic<uint64_t> allGather = 0, reduceScatter = 0, control = 0;
  CommunicationClock clock;
  CommunicationIntervals intervals; ///< the same, of streams

  std::atomic<uint64_t> &of(schema::CollectiveKind kind) {
    return kind == schema::CollectiveKind::all_gather ? allGather : kind == schema::CollectiveKind::reduce_scatter ? reduceScatter : control;
  }
  void add(const schema::Collective &collective) { of(collective.kind()).fetch_add(collective.wire_bytes(), std::memory_order_relaxed); }
};

/// A dispatch with its records read.
struct KernelCall {
  const schema::Kernel &kernel;
  std::string name;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<void *> pointers;   ///< reads, then writes
  std::vector<uint64_t> sizes;    ///< bytes behind each of them
};

/// A collective with its records read.
struct Exchange {
  schema::CollectiveKind kind;
  schema::ElementType element, targetElement;
  std::byte *source, *target, *staging;
  uint64_t stagingBytes;
  uint64_t size; ///< bytes of one rank's part: of the source, of a reduce_scatter those of the target
  uint32_t name; ///< in the JobView
  uint64_t wireBytes; ///< what the plan says that it sends
  CommunicationClock &clock;
  CommunicationIntervals &intervals;
};

/// Where a command runs.
struct CommandPlace {
  schema::QueueKind kind;
  const Queue &queue;
  const SectionRuns &runs; ///< of its section
  std::string where; ///< what an error that comes out later calls it: "micro_first: gather (node_gather)"
};

/// What commands do on one kind of device. Lives as long as the commands that it made.
class DeviceCommands {
public:
  virtual ~DeviceCommands() = default;

  /// What the ranks have to agree on before anything is loaded. Every rank calls it.
  virtual Status agree(const Container &container, Bootstrap &bootstrap) = 0;
  /// Loads the program's kernels: this rank's part of the start.
  virtual Status load(const Container &container) = 0;
  /// A channel for each queue that holds a collective, in the same order on all ranks, between bytes of `memory`.
  virtual Status createChannels(Bootstrap &bootstrap, const std::array<bool, kQueueCount> &used, const std::vector<ArenaBytes> &memory) = 0;
  /// Bytes of zeros that the channels of this rank left out of messages so far.
  virtual uint64_t bytesOmitted() const = 0;
  /// Whether work of queues other than the compute queue waits on the host, so that they need threads of their own.
  virtual bool needsThreads() const = 0;

  /// The program's code on a device with streams; null elsewhere.
  virtual DeviceModule *program() { return nullptr; }
  /// Tells at once what streams have come to by now.
  virtual void collect() {}
  /// Marks for a stream of the device; null where nothing of the program says anything.
  virtual Expected<std::unique_ptr<StreamMarks>> createMarks() { return std::unique_ptr<StreamMarks>(); }

  virtual MadeCommand makeKernel(KernelCall call, const CommandPlace &place) = 0;
  virtual MadeCommand makeCopy(std::byte *target, const std::byte *source, uint64_t size, const CommandPlace &place) = 0;
  virtual MadeCommand makeZero(std::vector<ArenaBytes> targets, const CommandPlace &place) = 0;
  virtual MadeCommand makeExchange(const Exchange &exchange, const CommandPlace &place) = 0;

  /// Ends the channels in order, on all ranks alike: when their work is done and nothing that was captured of it is left.
  virtual Status close() { return {}; }

  /// Bytes of the device in which commands say what went wrong; none where they say it when they run.
  virtual ArenaBytes report() const { return {}; }
  /// What those bytes say.
  virtual Status readReport(const std::byte *bytes) const { return {}; }

  /// What whoever starts the program is to know of the commands that were made.
  virtual std::vector<std::string> notes() const { return {}; }

  /// What computes, for people: "x86-64-v4".
  virtual std::string description() const = 0;
};

/// What a trace says of a command.
TracedCommand describeCommand(const schema::Plan &plan, const schema::Command &command, std::string_view section, uint32_t number);

/// Makes commands from records.
class CommandFactory {
public:
  /// `device`: null where nothing is made. `trace`: of commands that the host times as they run.
  CommandFactory(const schema::Plan &plan, const Memory &memory, DeviceCommands *device, JobView &view, Trace *trace)
      : plan(plan), memory(memory), device(device), view(view), trace(trace) {}

  /// `section` and `number`: where the command stands in the plan; it runs on `queue`.
  MadeCommand make(const schema::Command &command, const Section &section, uint32_t number, const Queue &queue, TrafficCounters &traffic);

private:
  std::string labelOf(const schema::Command &command) const;
  MadeCommand makeAction(const schema::Command &command, TrafficCounters &traffic, const CommandPlace &place);
  KernelCall readCall(const schema::Dispatch &dispatch) const;
  JobView::Name nameOf(const schema::Collective &collective) const;

  const schema::Plan &plan;
  const Memory &memory;
  DeviceCommands *device;
  JobView &view;
  Trace *trace;
};

} // namespace zero

#endif
