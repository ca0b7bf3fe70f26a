//===- Commands.h - The records of a plan, ready to run -------------------===//
//
// Everything is resolved when a command is made: pointers, kernels, channels. Running one allocates nothing.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_COMMANDS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_COMMANDS_H

#include "lib/Runtime/Executor/CommunicationClock.h"
#include "lib/Runtime/Executor/GeneratedKernels.h"
#include "lib/Runtime/Executor/Memory.h"
#include "lib/Runtime/Executor/Trace.h"
#include "zero/Runtime/Executor/Executor.h"
#include <array>
#include <atomic>
#include <map>

namespace zero {

/// A command with its label ("matmul", "all_gather b2"), timed where a trace is kept.
class CommandWork : public Work {
public:
  Status run() final;
  const std::string &name() const { return label; }

protected:
  virtual Status execute() = 0;

private:
  friend class CommandFactory;
  std::string label, origin; ///< `origin`: where errors say that it came from
  size_t queue = 0;
  Trace *trace = nullptr;
  uint32_t tracedAs = 0;
};

/// Bytes sent and time taken so far; queues count at the same time.
struct TrafficCounters {
  std::atomic<uint64_t> allGather = 0, reduceScatter = 0, control = 0;
  CommunicationClock clock;
};

/// Makes commands from records.
class CommandFactory {
public:
  CommandFactory(const schema::Plan &plan, const Memory &memory, const KernelLibrary *library,
                 const KernelOptions &kernelOptions, ParallelFor &compute, ParallelFor &others,
                 const std::array<Channel *, kQueueCount> &channels, JobView &view, Trace *trace)
      : plan(plan), memory(memory), library(library), kernelOptions(kernelOptions), compute(compute), others(others),
        channels(channels), view(view), trace(trace) {}

  /// `section` and `number`: where the command stands in the plan, for the trace.
  Expected<std::unique_ptr<CommandWork>> make(const schema::Command &command, std::string_view section, uint32_t number,
                                              TrafficCounters &traffic);

private:
  Expected<std::unique_ptr<CommandWork>> makeAction(const schema::Command &command, TrafficCounters &traffic, std::string &label);
  Expected<std::unique_ptr<CommandWork>> makeDispatch(const schema::Dispatch &dispatch, schema::QueueKind queue);
  Expected<std::shared_ptr<Kernel>> libraryKernel(const std::string &name, const schema::Dispatch &dispatch, schema::QueueKind queue);
  JobView::Name nameOf(const schema::Collective &collective) const;

  const schema::Plan &plan;
  const Memory &memory;
  const KernelLibrary *library;
  KernelOptions kernelOptions;
  ParallelFor &compute, &others;
  std::array<Channel *, kQueueCount> channels;
  JobView &view;
  Trace *trace;
  /// Dispatches with the same parameters on the same queue share a kernel: they never run at once.
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
};

} // namespace zero

#endif
