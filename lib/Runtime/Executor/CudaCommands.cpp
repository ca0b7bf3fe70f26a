//===- CudaCommands.cpp - Commands on a GPU -------------------------------===//
//
// Running a command puts it on its queue's stream. What it is made of is bound when it is made, so that captured streams can replay it.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Executor/CudaCommands.h"
#include "lib/Runtime/Executor/KernelSlices.h"
#include "zero/Runtime/HAL/StreamChannel.h"
#include "zero/Runtime/Kernels/CudaKernels.h"
#include <algorithm>
#include <cstring>

namespace zero {
namespace {

class GeneratedLaunch final : public CommandWork {
public:
  GeneratedLaunch(StreamDevice &device, DeviceFunction &function, const LaunchShape &shape, std::vector<void *> given, void *stream)
      : device(device), function(function), shape(shape), pointers(std::move(given)), stream(stream) {
    for (void *&pointer : pointers)
      arguments.push_back(&pointer);
  }
  Status execute() override { return device.launch(function, shape, arguments.data(), stream); }

private:
  StreamDevice &device;
  DeviceFunction &function;
  const LaunchShape shape;
  std::vector<void *> pointers, arguments;
  void *stream;
};

class LibraryLaunch final : public CommandWork {
public:
  LibraryLaunch(std::unique_ptr<CudaKernel> kernel, std::vector<void *> pointers, void *stream)
      : kernel(std::move(kernel)), pointers(std::move(pointers)), stream(stream) {}
  Status execute() override { return kernel->enqueue(stream, pointers.data()); }
  std::string algorithm() const override { return kernel->algorithmText(); }

private:
  std::unique_ptr<CudaKernel> kernel;
  std::vector<void *> pointers;
  void *stream;
};

class StreamCopy final : public CommandWork {
public:
  StreamCopy(StreamDevice &device, std::byte *target, const std::byte *source, uint64_t size, void *stream)
      : device(device), target(target), source(source), size(size), stream(stream) {}
  Status execute() override { return device.copyAsync(target, source, size, stream); }

private:
  StreamDevice &device;
  std::byte *target;
  const std::byte *source;
  uint64_t size;
  void *stream;
};

class StreamZero final : public CommandWork {
public:
  StreamZero(StreamDevice &device, std::vector<ArenaBytes> targets, void *stream)
      : device(device), targets(std::move(targets)), stream(stream) {}
  Status execute() override {
    for (auto [target, size] : targets)
      ZERO_RETURN_IF_ERROR(device.fillAsync(target, 0, size, stream));
    return {};
  }

private:
  StreamDevice &device;
  std::vector<ArenaBytes> targets;
  void *stream;
};

/// Hears of each run of a collective, also in a replay.
class StreamExchange final : public CommandWork, private CollectiveObserver {
public:
  StreamExchange(const Exchange &exchange, const CommandPlace &place) : intervals(exchange.intervals), runs(place.runs), stream(place.queue.stream()) {}
  Status prepare(const Exchange &exchange, StreamChannel &channel, const std::string &where) {
    using Kind = StreamCollective::Kind;
    StreamCollective collective;
    collective.source = exchange.source;
    collective.target = exchange.target;
    collective.staging = exchange.staging;
    collective.stagingBytes = exchange.stagingBytes;
    collective.name = exchange.name;
    collective.wireBytes = exchange.wireBytes;
    collective.origin = where;
    collective.observer = this;
    switch (exchange.kind) {
    case schema::CollectiveKind::all_gather:
      collective.kind = Kind::AllGather;
      collective.elements = exchange.size;
      break;
    case schema::CollectiveKind::reduce_scatter:
      collective.kind = Kind::ReduceScatter;
      collective.element = static_cast<FloatType>(exchange.element);
      collective.targetElement = static_cast<FloatType>(exchange.targetElement);
      collective.elements = exchange.size / elementBytes(exchange.targetElement);
      break;
    case schema::CollectiveKind::control_sum:
      collective.kind = exchange.element == schema::ElementType::i64 ? Kind::IntegerSum : Kind::FloatSum;
      collective.elements = exchange.size / elementBytes(exchange.element);
      break;
    }
    ZERO_ASSIGN_OR_RETURN(prepared, channel.prepare(collective));
    return {};
  }
  Status execute() override { return prepared->enqueue(stream); }

private:
  JobPlace entered(int64_t time) override {
    begin = time;
    return runs.at(++run);
  }
  void left(int64_t time) override { intervals.add(begin, time); }

  CommunicationIntervals &intervals;
  const SectionRuns &runs;
  uint64_t run = 0; ///< it runs once in each of its section
  int64_t begin = 0;
  void *stream;
  std::unique_ptr<PreparedCollective> prepared;
};

class CudaCommands final : public DeviceCommands {
public:
  CudaCommands(StreamDevice &device, StreamComm comm) : device(device), comm(comm) {}

  Status agree(const Container &container, Bootstrap &bootstrap) override;
  Status load(const Container &container) override;
  Status createChannels(Bootstrap &bootstrap, const std::array<bool, kQueueCount> &used, const std::vector<ArenaBytes> &memory) override;
  uint64_t bytesOmitted() const override;
  bool needsThreads() const override { return blocks; }
  Status close() override { return group ? group->close() : Status(); }
  DeviceModule *program() override { return module.get(); }
  void collect() override;
  Expected<std::unique_ptr<StreamMarks>> createMarks() override;
  MadeCommand makeKernel(KernelCall call, const CommandPlace &place) override;
  MadeCommand makeCopy(std::byte *target, const std::byte *source, uint64_t size, const CommandPlace &place) override;
  MadeCommand makeZero(std::vector<ArenaBytes> targets, const CommandPlace &place) override;
  MadeCommand makeExchange(const Exchange &exchange, const CommandPlace &place) override;
  ArenaBytes report() const override { return {statusWords->data(), sizeof(CudaStatus)}; }
  Status readReport(const std::byte *bytes) const override;
  std::vector<std::string> notes() const override;
  std::string description() const override;

private:
  StreamDevice &device;
  const StreamComm comm;
  CudaOptions options;
  bool isDeterministic = false;
  std::unique_ptr<Arena> statusWords; ///< a CudaStatus
  std::unique_ptr<DeviceModule> module;
  std::unique_ptr<StreamChannels> group;
  std::array<std::unique_ptr<StreamChannel>, kQueueCount> channels;
  bool blocks = false;
  bool copiesToSend = false; ///< NCCL does, through buffers of its own
  std::vector<std::string> places; ///< of commands, by their numbers
  std::string cudnn, withoutCudnn; ///< its version, and why it is not used; empty where nothing asks for it
  size_t convolutions = 0;         ///< that are cuDNN's to compute
  std::vector<std::string> instead; ///< those of them that are not, where they stand and why
  size_t cramped = 0;               ///< those for which it would rather take more workspace, and how much
  uint64_t wantedBytes = 0;
};

/// The device, what numbers depend on besides, and what makes it slower than it could be.
std::string CudaCommands::description() const {
  return device.name() + " (" + device.architecture() + ")" + (isDeterministic ? ", deterministic" : options.fast ? ", fast" : "") +
         (options.tf32 ? ", tf32" : "") + (cudnn.empty() ? "" : ", cuDNN " + cudnn) +
         (copiesToSend ? ", sends copies: other processes cannot map its memory" : "");
}

/// Whether a dispatch of the plan is cuDNN's to compute.
static bool wantsCudnn(const schema::Plan &plan) {
  if (!plan.cudnn_convolutions())
    return false;
  for (const schema::Kernel *kernel : records(plan.kernels()))
    if (std::string_view name = text(kernel->name()); name == "conv" || name == "conv_transpose" || name == "conv_weight_grad")
      return true;
  return false;
}

/// All ranks have it, or none uses it: what they compute is to come from the same kernels.
Status CudaCommands::agree(const Container &container, Bootstrap &bootstrap) {
  if (!wantsCudnn(container.plan()))
    return {};
  Expected<std::string> version = findCudnn();
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> reasons, bootstrap.allGather(version.ok() ? "" : version.status().message()));
  const auto first = std::find_if(reasons.begin(), reasons.end(), [](const std::string &reason) { return !reason.empty(); });
  if (first != reasons.end())
    withoutCudnn = "cuDNN is missing" + (reasons.size() > 1 ? " on rank " + std::to_string(first - reasons.begin()) : std::string()) + ": " + *first;
  else
    cudnn = *version;
  return {};
}

std::vector<std::string> CudaCommands::notes() const {
  auto ofAll = [&](size_t count) { return (count == convolutions ? "all " : std::to_string(count) + " of ") + std::to_string(convolutions) + " convolutions"; };
  std::vector<std::string> notes;
  if (!instead.empty())
    notes.push_back("kernels of the program compute " + ofAll(instead.size()) + ": " +
                    (!withoutCudnn.empty() ? withoutCudnn : instead.front() + (instead.size() > 1 ? "; --trace names the others" : "")));
  if (cramped)
    notes.push_back("for " + ofAll(cramped) + " cuDNN ranks engines first that take more than the " + std::to_string(options.workspaceBytes) +
                    " bytes of workspace planned; zero-compile --cuda-workspace-bytes=" + std::to_string(wantedBytes) + " lets it take them");
  return notes;
}

Status CudaCommands::load(const Container &container) {
  const schema::Plan &plan = container.plan();
  options.workspaceBytes = plan.cuda_workspace_bytes();
  options.tf32 = plan.tf32();
  options.cudnnConvolutions = plan.cudnn_convolutions();
  options.fast = plan.fast();
  isDeterministic = plan.deterministic();
  std::vector<CodeLabel> codes;
  std::vector<const Container::Section *> sections;
  for (const Container::Section &section : container.sections())
    if (section.kind == SectionKind::CudaBinary || section.kind == SectionKind::CudaPtx) {
      codes.push_back({section.label, section.kind == SectionKind::CudaPtx});
      sections.push_back(&section);
    }
  auto chosen = device.choose(codes);
  if (!chosen.ok())
    return Status::badInput("'" + container.path() + "' holds " + chosen.status().message() + "; recompile with --cuda-architectures=" +
                            device.architecture() + " (it was compiled with: " + recompileCommand(container, plan.world_size()) + ")");
  ZERO_ASSIGN_OR_RETURN(std::string code, container.read(*sections[*chosen]));
  auto loaded = device.loadModule(code);
  if (!loaded.ok())
    return loaded.status().annotate("'" + container.path() + "': the code for " + codes[*chosen].label + " does not load");
  module = std::move(*loaded);
  ZERO_ASSIGN_OR_RETURN(statusWords, device.allocate("status of kernels", sizeof(CudaStatus)));
  return {};
}

Status CudaCommands::createChannels(Bootstrap &bootstrap, const std::array<bool, kQueueCount> &used, const std::vector<ArenaBytes> &memory) {
  if (std::find(used.begin(), used.end(), true) == used.end())
    return {}; // one rank alone
  if (comm == StreamComm::Nccl) {
    StreamChannelOptions channelOptions;
    channelOptions.deterministic = isDeterministic;
    copiesToSend = bootstrap.size() > 1 && !device.isMappedByProcesses();
    if (!copiesToSend) // what processes cannot hand on has nothing to register
      for (const ArenaBytes &arena : memory)
        channelOptions.memory.emplace_back(arena.address, arena.size);
    ZERO_ASSIGN_OR_RETURN(group, createNcclChannels(bootstrap, device, *module, channelOptions));
  } else {
    group = createStagedChannels(bootstrap, device);
  }
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (used[queue]) {
      ZERO_ASSIGN_OR_RETURN(channels[queue], group->create());
      blocks |= channels[queue]->blocks();
    }
  return {};
}

uint64_t CudaCommands::bytesOmitted() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<StreamChannel> &channel : channels)
    bytes += channel ? channel->bytesOmitted() : 0;
  return bytes;
}

void CudaCommands::collect() {
  for (std::unique_ptr<StreamChannel> &channel : channels)
    if (channel)
      channel->collect();
}

Expected<std::unique_ptr<StreamMarks>> CudaCommands::createMarks() {
  if (!group) // a program without collectives has no kernel for it, and nothing to wait for
    return std::unique_ptr<StreamMarks>();
  return StreamMarks::create(device, *module);
}

MadeCommand CudaCommands::makeKernel(KernelCall call, const CommandPlace &place) {
  void *stream = place.queue.stream();
  if (call.kernel.generated()) {
    // The container's verifier has seen that a device can launch this.
    const LaunchShape shape = {{static_cast<uint32_t>(call.kernel.grid_blocks()), 1, 1}, {call.kernel.block_threads(), 1, 1}, call.kernel.shared_bytes()};
    ZERO_ASSIGN_OR_RETURN(DeviceFunction *function, module->find(call.name));
    return std::unique_ptr<CommandWork>(std::make_unique<GeneratedLaunch>(device, *function, shape, std::move(call.pointers), stream));
  }
  ZERO_RETURN_IF_ERROR(checkCudaKernelSlices(call, cudaWorkspaceBytes(call.name, call.integers, options)));
  const uint32_t number = static_cast<uint32_t>(places.size());
  places.push_back(place.where);
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<CudaKernel> kernel,
                        prepareCudaKernel(call.name, call.integers, call.reals, call.pointers, options,
                                          CudaKernelPlace{device, *module, statusWords->data(), number, withoutCudnn}));
  if (isCudaLibraryConvolution(call.name, call.integers, options))
    ++convolutions;
  if (std::string why = kernel->insteadOfLibrary(); !why.empty())
    instead.push_back(place.where + ": " + why);
  if (uint64_t bytes = kernel->wantedWorkspaceBytes()) {
    ++cramped;
    wantedBytes = std::max(wantedBytes, bytes);
  }
  return std::unique_ptr<CommandWork>(std::make_unique<LibraryLaunch>(std::move(kernel), std::move(call.pointers), stream));
}

MadeCommand CudaCommands::makeCopy(std::byte *target, const std::byte *source, uint64_t size, const CommandPlace &place) {
  // Blocks of a copy on a GPU run in no order; one that overlaps itself the container's verifier has refused.
  return std::unique_ptr<CommandWork>(std::make_unique<StreamCopy>(device, target, source, size, place.queue.stream()));
}

MadeCommand CudaCommands::makeZero(std::vector<ArenaBytes> targets, const CommandPlace &place) {
  return std::unique_ptr<CommandWork>(std::make_unique<StreamZero>(device, std::move(targets), place.queue.stream()));
}

MadeCommand CudaCommands::makeExchange(const Exchange &exchange, const CommandPlace &place) {
  auto work = std::make_unique<StreamExchange>(exchange, place);
  ZERO_RETURN_IF_ERROR(work->prepare(exchange, *channels[static_cast<size_t>(place.kind)], place.where));
  return std::unique_ptr<CommandWork>(std::move(work));
}

Status CudaCommands::readReport(const std::byte *bytes) const {
  CudaStatus words;
  std::memcpy(&words, bytes, sizeof words);
  Status status = toStatus(words);
  return words.command < places.size() ? status.annotate(places[words.command]) : status;
}

} // namespace

Expected<std::unique_ptr<DeviceCommands>> createCudaCommands(StreamDevice &device, StreamComm comm) {
  return std::unique_ptr<DeviceCommands>(std::make_unique<CudaCommands>(device, comm));
}

} // namespace zero
