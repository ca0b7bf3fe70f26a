//===- CpuCommands.h - Commands on the host's own cores -------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_CPUCOMMANDS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_CPUCOMMANDS_H

#include "lib/Runtime/Executor/Commands.h"
#include "lib/Runtime/Executor/GeneratedKernels.h"
#include "lib/Runtime/Executor/ThreadPool.h"
#include <map>

namespace zero {

class CpuCommands final : public DeviceCommands {
public:
  /// `threads` share the kernels of the compute queue; `asked`: what they use (ExecutorOptions::instructionSet).
  CpuCommands(unsigned threads, std::optional<KernelOptions> asked) : asked(asked), compute(threads), others(1) {}

  Status agree(const Container &container, Bootstrap &bootstrap) override;
  Status load(const Container &container) override;
  Status createChannels(Bootstrap &bootstrap, const std::array<bool, kQueueCount> &used, const std::vector<ArenaBytes> &memory) override;
  uint64_t bytesOmitted() const override;
  bool needsThreads() const override { return true; }
  MadeCommand makeKernel(KernelCall call, const CommandPlace &place) override;
  MadeCommand makeCopy(std::byte *target, const std::byte *source, uint64_t size, const CommandPlace &place) override;
  MadeCommand makeZero(std::vector<ArenaBytes> targets, const CommandPlace &place) override;
  MadeCommand makeExchange(const Exchange &exchange, const CommandPlace &place) override;
  std::string description() const override { return instructionSetName(kernelOptions); }

private:
  Expected<std::shared_ptr<Kernel>> libraryKernel(const KernelCall &call, schema::QueueKind queue);

  std::optional<KernelOptions> asked;
  KernelOptions kernelOptions;
  std::unique_ptr<KernelLibrary> library;
  ThreadPool compute, others;
  std::array<std::unique_ptr<Channel>, kQueueCount> channels;
  /// Dispatches with the same parameters on the same queue share a kernel: they never run at once.
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
};

} // namespace zero

#endif
