//===- Executor.cpp - Runs the sections of a plan -------------------------===//
#include "zero/Runtime/Executor/Executor.h"
#include "lib/Runtime/Executor/Agreement.h"
#include "lib/Runtime/Executor/Commands.h"
#include "lib/Runtime/Executor/DelayedWork.h"
#include "lib/Runtime/Executor/GatheredElements.h"
#include "lib/Runtime/Executor/NonFinite.h"
#include "lib/Runtime/Executor/ShownWork.h"
#include "lib/Runtime/Executor/ThreadPool.h"
#include "zero/Runtime/Base/ShellText.h"
#include <cmath>
#include <cstring>

namespace zero {
namespace {

/// A command with the events around it.
struct Step {
  std::unique_ptr<Work> work;
  Queue *queue;
  std::vector<Event *> waits;
  Event *record = nullptr;
  GatherChange gathered;
};

struct Section {
  std::string name;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<Step> steps;
  uint64_t instance = 0; ///< how often it ran: what its events count
  uint32_t place = 0;    ///< its name in the view of the job
};

} // namespace

struct Executor::Impl {
  Impl(const Container &container, Bootstrap &bootstrap, const ExecutorOptions &options)
      : container(container), plan(container.plan()), bootstrap(bootstrap), options(options), device(options.createDevice()),
        compute(options.threads), others(1) {}

  /// What this rank does alone; the caller agrees on the outcome.
  Status allocate();
  Status createChannels();
  Status build();
  Status buildSection(const schema::Section &record, CommandFactory &factory, Section &section);
  Status runSection(Section &section);
  Status runSection(std::string_view name);

  const Container &container;
  const schema::Plan &plan;
  Bootstrap &bootstrap;
  ExecutorOptions options;
  KernelOptions kernelOptions;
  TrafficCounters traffic;
  CommunicationClock::Clock::duration exposedAtEnds = {}; ///< of sections, until their last collectives were through
  float ownLossSum = 0, lossScale = 0;
  // In the order of their lifetimes: queues end before what they use.
  std::unique_ptr<Device> device;
  Memory memory;
  std::unique_ptr<KernelLibrary> library;
  ThreadPool compute, others;
  std::array<std::unique_ptr<Channel>, kQueueCount> channels;
  std::vector<Section> sections;
  GatheredElements gathered;
  std::array<std::unique_ptr<Queue>, kQueueCount> queues;
};

Status Executor::Impl::allocate() {
  bool generated = false;
  for (const schema::Kernel *kernel : records(plan.kernels()))
    generated |= kernel->generated();
  if (generated && device->runs()) {
    ZERO_ASSIGN_OR_RETURN(library, KernelLibrary::load(container, kernelOptions.variant));
  }
  ZERO_ASSIGN_OR_RETURN(memory, Memory::allocate(plan, *device, bootstrap.rank(), bootstrap.sharesMemory()));
  return device->runs() ? memory.loadWeights(container) : Status();
}

/// One channel for each queue that holds a collective, in the same order on all ranks.
Status Executor::Impl::createChannels() {
  std::array<bool, kQueueCount> used = {};
  for (const schema::Section *section : records(plan.sections()))
    for (const schema::Command *command : records(section->commands()))
      if (command->action_type() == schema::Action::Collective)
        used[static_cast<size_t>(command->queue())] = true;
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (used[queue]) {
      ZERO_ASSIGN_OR_RETURN(channels[queue], bootstrap.createChannel());
    }
  return {};
}

Status Executor::Impl::buildSection(const schema::Section &record, CommandFactory &factory, Section &section) {
  section.name = text(record.name());
  section.place = bootstrap.view().addPlace(section.name);
  for (uint32_t i = 0; i < record.events(); ++i)
    section.events.push_back(device->createEvent(section.name + ".e" + std::to_string(i)));
  std::vector<GatherChange> changes = findGatherChanges(plan, record);
  for (const schema::Command *command : records(record.commands())) {
    Step step;
    step.gathered = changes[section.steps.size()];
    if (device->runs()) {
      auto work = factory.make(*command, section.name, static_cast<uint32_t>(section.steps.size()), traffic);
      if (!work.ok())
        return work.status().annotate(section.name);
      step.work = std::move(*work);
    } else {
      step.work = std::make_unique<ShownWork>(plan, *command, section.name + " " + std::to_string(section.steps.size()), memory);
    }
    if (options.delaySeed) // each command of each rank has a sequence of its own
      step.work = std::make_unique<DelayedWork>(
          std::move(step.work), options.delaySeed * 1000003 + bootstrap.rank() * 10007 + sections.size() * 101 + section.steps.size());
    step.queue = queues[static_cast<size_t>(command->queue())].get();
    for (uint32_t event : records(command->waits()))
      step.waits.push_back(section.events[event].get());
    if (command->record() >= 0)
      step.record = section.events[static_cast<size_t>(command->record())].get();
    section.steps.push_back(std::move(step));
  }
  return {};
}

Status Executor::Impl::build() {
  size_t longest = 0; // waits, works and records of any section
  for (const schema::Section *section : records(plan.sections())) {
    size_t entries = 0;
    for (const schema::Command *command : records(section->commands()))
      entries += records(command->waits()).size() + 2;
    longest = std::max(longest, entries);
  }
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    // Delayed, it may lag behind what is submitted, too.
    bool isCompute = queue == static_cast<size_t>(schema::QueueKind::compute) && !options.delaySeed;
    queues[queue] = device->createQueue(
        {schema::EnumNameQueueKind(static_cast<schema::QueueKind>(queue)), longest, /*onCallingThread=*/isCompute},
        bootstrap.failure());
  }
  std::array<Channel *, kQueueCount> channelOf;
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    channelOf[queue] = channels[queue].get();
  CommandFactory factory(plan, memory, library.get(), kernelOptions, compute, others, channelOf, bootstrap.view(),
                         options.trace);
  sections.resize(records(plan.sections()).size());
  for (size_t i = 0; i < sections.size(); ++i)
    ZERO_RETURN_IF_ERROR(buildSection(*records(plan.sections())[static_cast<uint32_t>(i)], factory, sections[i]));
  return {};
}

Status Executor::Impl::runSection(Section &section) {
  uint64_t instance = ++section.instance;
  bootstrap.view().moveTo(section.place);
  for (Step &step : section.steps) {
    for (Event *event : step.waits)
      step.queue->wait(*event, instance);
    gathered.acquire(step.gathered);
    step.queue->submit(*step.work);
    gathered.release(step.gathered);
    if (step.record)
      step.queue->record(*step.record, instance);
  }
  Queue &computeQueue = *queues[static_cast<size_t>(schema::QueueKind::compute)];
  computeQueue.finish();
  CommunicationClock::Clock::time_point computed = CommunicationClock::Clock::now();
  for (std::unique_ptr<Queue> &queue : queues)
    if (queue.get() != &computeQueue)
      queue->finish();
  exposedAtEnds += CommunicationClock::Clock::now() - computed;
  return bootstrap.failure().raised() ? bootstrap.failure().status().annotate(section.name) : Status();
}

Status Executor::Impl::runSection(std::string_view name) {
  for (Section &section : sections)
    if (section.name == name)
      return runSection(section);
  return Status::badInput("the plan has no section '" + std::string(name) + "'");
}

Executor::Executor(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Executor::~Executor() = default;

Expected<std::unique_ptr<Executor>> Executor::create(const Container &container, Bootstrap &bootstrap,
                                                     const ExecutorOptions &options) {
  ZERO_RETURN_IF_ERROR(agreeOnProgram(container, bootstrap));
  const schema::Plan &plan = container.plan();
  if (plan.world_size() != bootstrap.size())
    return bootstrap.agree(Status::badInput(
        "'" + container.path() + "' is compiled for " + std::to_string(plan.world_size()) + " ranks, this job has " +
        std::to_string(bootstrap.size()) + "; start it with mpirun -n " + std::to_string(plan.world_size()) +
        ", or recompile with: " + recompileCommand(container, bootstrap.size())));

  auto impl = std::make_unique<Impl>(container, bootstrap, options);
  bool generated = false;
  for (const schema::Kernel *kernel : records(plan.kernels()))
    generated |= kernel->generated();
  if (impl->device->runs()) {
    ZERO_ASSIGN_OR_RETURN(impl->kernelOptions, agreeOnVariant(container, bootstrap, generated));
  }
  ZERO_RETURN_IF_ERROR(bootstrap.agree(impl->allocate()));
  ZERO_RETURN_IF_ERROR(bootstrap.share(impl->memory.shared()));
  ZERO_RETURN_IF_ERROR(impl->createChannels());
  ZERO_RETURN_IF_ERROR(bootstrap.agree(impl->build()));
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

void *Executor::input(size_t index) const {
  return impl->memory.at(*records(impl->plan.inputs())[static_cast<uint32_t>(index)]->slice());
}

Status Executor::runMicroBatch(unsigned number) { return impl->runSection(number == 0 ? "micro_first" : "micro_next"); }
Status Executor::runPredict() { return impl->runSection("predict"); }

const std::byte *Executor::output(size_t index) const {
  return impl->memory.at(*records(impl->plan.outputs())[static_cast<uint32_t>(index)]->slice());
}

Status Executor::runUpdate(uint64_t step) {
  if (!impl->device->runs()) // there is no memory to write scalars to
    return impl->runSection("update");
  for (const schema::StepScalar *scalar : records(impl->plan.step_scalars())) {
    double value = scalar->value();
    if (text(scalar->kind()) == "skip_non_finite")
      value = impl->options.skipNonFinite ? 1.0 : 0.0;
    else if (text(scalar->kind()) != "learning_rate")
      value = 1.0 - std::pow(value, static_cast<double>(step));
    float rounded = static_cast<float>(value);
    std::memcpy(impl->memory.at(*scalar->slice()), &rounded, sizeof rounded);
  }
  for (const schema::StepResult *result : records(impl->plan.step_results())) {
    if (text(result->kind()) == "loss_sum") // the update sums it over the ranks
      std::memcpy(&impl->ownLossSum, impl->memory.at(*result->slice()), sizeof impl->ownLossSum);
    if (text(result->kind()) == "loss_scale") // the update changes it
      std::memcpy(&impl->lossScale, impl->memory.at(*result->slice()), sizeof impl->lossScale);
  }
  return impl->runSection("update");
}

StepResults Executor::results() const {
  StepResults results;
  results.ownLossSum = impl->ownLossSum;
  results.lossScale = impl->lossScale;
  float skipped = 0;
  for (const schema::StepResult *result : records(impl->plan.step_results())) {
    const void *source = impl->memory.at(*result->slice());
    if (text(result->kind()) == "loss")
      std::memcpy(&results.loss, source, sizeof results.loss);
    else if (text(result->kind()) == "grad_norm")
      std::memcpy(&results.gradNorm, source, sizeof results.gradNorm);
    else if (text(result->kind()) == "skipped")
      std::memcpy(&skipped, source, sizeof skipped);
    else if (text(result->kind()) == "label_count")
      std::memcpy(&results.labelCount, source, sizeof results.labelCount);
  }
  results.skipped = skipped != 0;
  return results;
}

std::string Executor::nonFiniteGradients() const {
  return findNonFiniteGradients(impl->plan, impl->memory, impl->bootstrap.rank());
}

double Executor::learningRate() const {
  for (const schema::StepScalar *scalar : records(impl->plan.step_scalars()))
    if (text(scalar->kind()) == "learning_rate")
      return scalar->value();
  return 0;
}

Traffic Executor::traffic() const {
  return {impl->traffic.allGather.load(), impl->traffic.reduceScatter.load(), impl->traffic.control.load()};
}

CommunicationTimes Executor::communicationTimes() const {
  // All events that the compute queue waits for are those of collectives: nothing else runs elsewhere.
  const Queue &compute = *impl->queues[static_cast<size_t>(schema::QueueKind::compute)];
  return {impl->traffic.clock.seconds(), static_cast<double>(compute.waitedNanoseconds()) * 1e-9 +
                                             std::chrono::duration<double>(impl->exposedAtEnds).count()};
}

uint64_t Executor::peakGatheredElements() const { return impl->gathered.peak(); }
uint64_t Executor::deviceBytes() const { return impl->memory.deviceBytes(); }
CpuVariant Executor::variant() const { return impl->kernelOptions.variant; }

Executor::Parameters Executor::parameters(size_t bucket) const {
  const schema::State *state = findExported(impl->plan, bucket);
  if (!state)
    return {nullptr, 0, false};
  return {impl->memory.at(*state->slice()), state->slice()->size(), state->sharded()};
}

std::string recompileCommand(const Container &container, unsigned worldSize) {
  const schema::Plan &plan = container.plan();
  std::string command(text(plan.command()));
  if (command.empty())
    command = "zero-compile " + quoteForShell(text(plan.model()));
  return command + " --world-size=" + std::to_string(worldSize) + " -o " + quoteForShell(container.path());
}

} // namespace zero
