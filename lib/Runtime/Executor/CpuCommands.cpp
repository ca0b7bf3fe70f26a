//===- CpuCommands.cpp - Commands on the host's own cores -----------------===//
#include "lib/Runtime/Executor/CpuCommands.h"
#include "lib/Runtime/Executor/KernelSlices.h"
#include <cstring>

namespace zero {
namespace {

class GeneratedDispatch final : public CommandWork {
public:
  GeneratedDispatch(GeneratedKernel kernel, int64_t items, std::vector<void *> pointers, ParallelFor &parallel)
      : kernel(kernel), items(items), pointers(std::move(pointers)), parallel(parallel) {}
  Status execute() override {
    parallel.run(
        items,
        [](void *context, int64_t begin, int64_t end) {
          auto *self = static_cast<GeneratedDispatch *>(context);
          self->kernel(self->pointers.data(), begin, end);
        },
        this);
    return {};
  }

private:
  GeneratedKernel kernel;
  int64_t items;
  std::vector<void *> pointers;
  ParallelFor &parallel;
};

class LibraryDispatch final : public CommandWork {
public:
  LibraryDispatch(std::shared_ptr<Kernel> kernel, std::vector<void *> pointers, ParallelFor &parallel)
      : kernel(std::move(kernel)), pointers(std::move(pointers)), parallel(parallel) {}
  Status execute() override { return kernel->run(pointers.data(), parallel); }

private:
  std::shared_ptr<Kernel> kernel;
  std::vector<void *> pointers;
  ParallelFor &parallel;
};

class CopyWork final : public CommandWork {
public:
  CopyWork(std::byte *target, const std::byte *source, uint64_t size) : target(target), source(source), size(size) {}
  Status execute() override {
    if (size) // an arena without bytes has no address
      std::memmove(target, source, size);
    return {};
  }

private:
  std::byte *target;
  const std::byte *source;
  uint64_t size;
};

class ZeroWork final : public CommandWork {
public:
  explicit ZeroWork(std::vector<ArenaBytes> targets) : targets(std::move(targets)) {}
  Status execute() override {
    for (auto [target, size] : targets)
      if (size)
        std::memset(target, 0, size);
    return {};
  }

private:
  std::vector<ArenaBytes> targets;
};

class CollectiveWork final : public CommandWork {
public:
  CollectiveWork(const Exchange &exchange, Channel &channel) : exchange(exchange), channel(channel) {}

  Status execute() override {
    uint64_t before = channel.bytesSent();
    channel.announce(exchange.name);
    exchange.clock.begin();
    Status exchanged = exchangeBytes();
    exchange.clock.end();
    ZERO_RETURN_IF_ERROR(exchanged);
    // What was counted when it was submitted.
    if (uint64_t sent = channel.bytesSent() - before; sent != exchange.wireBytes)
      return Status::programFailed("sent " + std::to_string(sent) + " bytes, but the plan says " + std::to_string(exchange.wireBytes));
    return {};
  }

private:
  Status exchangeBytes() {
    const auto &[kind, element, targetElement, source, target, staging, stagingBytes, size, name, wireBytes, clock, intervals] = exchange;
    switch (kind) {
    case schema::CollectiveKind::all_gather:
      return channel.allGather(source, target, size);
    case schema::CollectiveKind::reduce_scatter:
      return channel.reduceScatter(source, static_cast<FloatType>(element), target, static_cast<FloatType>(targetElement),
                                   size / elementBytes(targetElement), staging);
    case schema::CollectiveKind::control_sum:
      if (element == schema::ElementType::i64)
        return channel.sum(reinterpret_cast<const int64_t *>(source), reinterpret_cast<int64_t *>(target),
                           size / sizeof(int64_t), staging);
      return channel.sum(reinterpret_cast<const float *>(source), reinterpret_cast<float *>(target), size / sizeof(float),
                         staging);
    }
    return {};
  }

  Exchange exchange;
  Channel &channel;
};

} // namespace

static bool hasGeneratedKernels(const schema::Plan &plan) {
  for (const schema::Kernel *kernel : records(plan.kernels()))
    if (kernel->generated())
      return true;
  return false;
}

Status CpuCommands::agree(const Container &container, Bootstrap &bootstrap) {
  ZERO_ASSIGN_OR_RETURN(kernelOptions, agreeOnInstructionSet(container, bootstrap, hasGeneratedKernels(container.plan()), asked));
  return {};
}

Status CpuCommands::load(const Container &container) {
  if (hasGeneratedKernels(container.plan())) {
    ZERO_ASSIGN_OR_RETURN(library, KernelLibrary::load(container, kernelOptions.variant));
  }
  return {};
}

Status CpuCommands::createChannels(Bootstrap &bootstrap, const std::array<bool, kQueueCount> &used, const std::vector<ArenaBytes> &) {
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (used[queue]) {
      ZERO_ASSIGN_OR_RETURN(channels[queue], bootstrap.createChannel());
    }
  return {};
}

uint64_t CpuCommands::bytesOmitted() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<Channel> &channel : channels)
    bytes += channel ? channel->bytesOmitted() : 0;
  return bytes;
}

Expected<std::shared_ptr<Kernel>> CpuCommands::libraryKernel(const KernelCall &call, schema::QueueKind queue) {
  ZERO_RETURN_IF_ERROR(checkKernelSlices(call));
  std::string key = call.name + '\0' + static_cast<char>(queue);
  key.append(reinterpret_cast<const char *>(call.integers.data()), call.integers.size() * sizeof(int64_t));
  key += '\0';
  key.append(reinterpret_cast<const char *>(call.reals.data()), call.reals.size() * sizeof(double));
  std::shared_ptr<Kernel> &kernel = kernels[key];
  if (!kernel) {
    ZERO_ASSIGN_OR_RETURN(kernel, prepareKernel(call.name, call.integers, call.reals, kernelOptions));
  }
  return kernel;
}

MadeCommand CpuCommands::makeKernel(KernelCall call, const CommandPlace &place) {
  ParallelFor &parallel = place.kind == schema::QueueKind::compute ? compute : others;
  if (call.kernel.generated()) {
    ZERO_ASSIGN_OR_RETURN(GeneratedKernel kernel, library->find(call.kernel));
    return std::unique_ptr<CommandWork>(std::make_unique<GeneratedDispatch>(kernel, static_cast<int64_t>(call.kernel.items()),
                                                                            std::move(call.pointers), parallel));
  }
  ZERO_ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, libraryKernel(call, place.kind));
  return std::unique_ptr<CommandWork>(std::make_unique<LibraryDispatch>(std::move(kernel), std::move(call.pointers), parallel));
}

MadeCommand CpuCommands::makeCopy(std::byte *target, const std::byte *source, uint64_t size, const CommandPlace &) {
  return std::unique_ptr<CommandWork>(std::make_unique<CopyWork>(target, source, size));
}

MadeCommand CpuCommands::makeZero(std::vector<ArenaBytes> targets, const CommandPlace &) {
  return std::unique_ptr<CommandWork>(std::make_unique<ZeroWork>(std::move(targets)));
}

MadeCommand CpuCommands::makeExchange(const Exchange &exchange, const CommandPlace &place) {
  return std::unique_ptr<CommandWork>(std::make_unique<CollectiveWork>(exchange, *channels[static_cast<size_t>(place.kind)]));
}

} // namespace zero
