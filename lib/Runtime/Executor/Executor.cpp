//===- Executor.cpp - Runs the sections of a plan -------------------------===//
#include "zero/Runtime/Executor/Executor.h"
#include "lib/Runtime/Executor/Agreement.h"
#include "lib/Runtime/Executor/Commands.h"
#include "lib/Runtime/Executor/CpuCommands.h"
#include "lib/Runtime/Executor/CudaCommands.h"
#include "lib/Runtime/Executor/DelayedWork.h"
#include "lib/Runtime/Executor/HostSlices.h"
#include "lib/Runtime/Executor/NonFinite.h"
#include "lib/Runtime/Executor/ShownWork.h"
#include "lib/Runtime/Executor/StreamGradients.h"
#include "lib/Runtime/Executor/StreamSections.h"
#include "lib/Runtime/Executor/StreamTimes.h"
#include "zero/Runtime/Base/ShellText.h"
#include <cmath>
#include <cstring>
#include <utility>

namespace zero {

struct Executor::Impl {
  Impl(const Container &container, Bootstrap &bootstrap, const ExecutorOptions &options)
      : container(container), plan(container.plan()), bootstrap(bootstrap), options(options) {}
  ~Impl();

  /// What this rank does alone; the caller agrees on the outcome.
  Status createDevice();
  Status allocate();
  Status createChannels();
  Status build();
  Status buildSection(const schema::Section &record, CommandFactory &factory, Section &section);
  Status createHostSlices();
  Status runSection(Section &section, bool followed = false);
  Status run(Section *section, std::string_view name, bool followed = false);
  void submit(Section &section, Section *next);
  void submitEarly(Section &next, size_t after, uint64_t updates);
  Section *findSection(std::string_view name);
  Status finish(std::string_view section);
  Status runOnStreams(Section &section, bool followed);
  void countOnStreams(const Section &section, const Section *next);
  void dropEarly();
  void readResults(const HostSlices &slices, bool before);
  /// Until what was fetched from the device is there, with what its commands report.
  Status receive(HostSlices &slices);
  /// Of a micro-batch, or those that `takes` names; the section that reads them comes next.
  Status sendInputs(const std::vector<bool> &takes);
  /// Behind that section.
  void inputsAreRead();
  Queue &compute() { return *queues[static_cast<size_t>(schema::QueueKind::compute)]; }

  const Container &container;
  const schema::Plan &plan;
  Bootstrap &bootstrap;
  ExecutorOptions options;
  TrafficCounters traffic;
  CommunicationClock::Clock::duration exposedAtEnds = {}; ///< of sections, until their last collectives were through
  StepResults results;
  // In the order of their lifetimes: queues end before what they use.
  std::unique_ptr<Device> device;
  Memory memory;
  std::unique_ptr<DeviceCommands> commands; ///< null where the device only shows them; its channels may have registered the memory
  /// What the host writes before sections, and reads before and after them; `report` is what commands say went wrong.
  HostSlices inputs, scalars, before, after, outputs, report;
  std::unique_ptr<StreamMarks> waitMarks; ///< of the compute stream, where somebody asks how long it waits
  std::unique_ptr<StreamGradients> gradients; ///< on a device with streams, where a step has gradients
  /// There batches go to it beside what it computes, behind the last section that reads one: events, and how often.
  std::unique_ptr<Event> inputsRead, inputsSent;
  uint64_t reads = 0, sends = 0;
  std::unique_ptr<StreamTimes> times; ///< of a trace, on a device with streams
  std::vector<Section> sections;
  Section *microFirst = nullptr, *microNext = nullptr, *update = nullptr, *predict = nullptr; ///< of these; null: the plan has none
  GatheredElements gathered;
  std::unique_ptr<StreamSections> onStreams; ///< null on a device without streams
  Queues queues;
  std::unique_ptr<Queue> copyIn; ///< on a device with streams
  std::array<bool, kQueueCount> outlasting = {}; ///< queues that still run what outlasts the last section
};

Executor::Impl::~Impl() {
  // Queues of other threads may still use what ends before them.
  for (std::unique_ptr<Queue> &queue : queues)
    if (queue)
      queue->finish();
  if (copyIn)
    copyIn->finish();
}

Status Executor::Impl::createDevice() {
  if (!options.createDevice) {
    device = createCpuDevice();
  } else {
    ZERO_ASSIGN_OR_RETURN(device, options.createDevice());
  }
  if (!device->runs())
    return {};
  if (StreamDevice *streams = device->streams()) {
    ZERO_RETURN_IF_ERROR(streams->bindThread());
    ZERO_ASSIGN_OR_RETURN(commands, createCudaCommands(*streams, options.comm));
    return {};
  }
  commands = std::make_unique<CpuCommands>(options.threads, options.instructionSet);
  return {};
}

Status Executor::Impl::allocate() {
  if (commands)
    ZERO_RETURN_IF_ERROR(commands->load(container));
  const bool share = bootstrap.sharesMemory() && !device->streams();
  ZERO_ASSIGN_OR_RETURN(memory, Memory::allocate(plan, *device, bootstrap.rank(), share));
  if (!commands)
    return {};
  ZERO_RETURN_IF_ERROR(createHostSlices());
  return memory.loadWeights(container);
}

/// A number of the step that is read before `update` changes it.
static bool isReadBefore(std::string_view kind) {
  return kind == "loss_sum"       // the update sums it over the ranks
         || kind == "loss_scale"; // the update changes it
}

Status Executor::Impl::createHostSlices() {
  auto make = [&](const auto &list, auto takes, unsigned copies) {
    std::vector<ArenaBytes> ranges;
    for (const auto *record : list)
      if (takes(*record))
        ranges.push_back(memory.bytes(*record->slice()));
    return HostSlices::create(*device, std::move(ranges), copies);
  };
  auto all = [](const auto &) { return true; };
  // While one batch is on its way to the device the host reads the next.
  ZERO_ASSIGN_OR_RETURN(inputs, make(records(plan.inputs()), all, /*copies=*/2));
  ZERO_ASSIGN_OR_RETURN(scalars, make(records(plan.step_scalars()), all, /*copies=*/2));
  ZERO_ASSIGN_OR_RETURN(before, make(records(plan.step_results()), [](const schema::StepResult &result) { return isReadBefore(text(result.kind())); }, 1));
  ZERO_ASSIGN_OR_RETURN(after, make(records(plan.step_results()), [](const schema::StepResult &result) { return !isReadBefore(text(result.kind())); }, 1));
  ZERO_ASSIGN_OR_RETURN(outputs, make(records(plan.outputs()), all, 1));
  std::vector<ArenaBytes> words;
  if (ArenaBytes bytes = commands->report(); bytes.size)
    words.push_back(bytes);
  ZERO_ASSIGN_OR_RETURN(report, HostSlices::create(*device, std::move(words), 1));
  return {};
}

/// One channel for each queue that holds a collective, in the same order on all ranks.
Status Executor::Impl::createChannels() {
  std::array<bool, kQueueCount> used = {};
  for (const schema::Section *section : records(plan.sections()))
    for (const schema::Command *command : records(section->commands()))
      if (command->action_type() == schema::Action::Collective)
        used[static_cast<size_t>(command->queue())] = true;
  return commands ? commands->createChannels(bootstrap, used, memory.ranges()) : Status();
}

/// The place of the command that records the event.
static size_t findRecorder(const schema::Section &section, uint32_t event) {
  auto commands = records(section.commands());
  uint32_t place = 0;
  while (place < commands.size() && commands[place]->record() != static_cast<int64_t>(event))
    ++place;
  return place;
}

Status Executor::Impl::buildSection(const schema::Section &record, CommandFactory &factory, Section &section) {
  section.runs->place = bootstrap.view().addPlace(section.name);
  std::vector<GatherChange> changes = findGatherChanges(plan, record);
  for (const schema::Command *command : records(record.commands())) {
    const uint32_t number = static_cast<uint32_t>(section.steps.size());
    Step step;
    step.gathered = changes[number];
    step.queue = static_cast<size_t>(command->queue());
    std::string algorithm;
    if (commands) {
      auto work = factory.make(*command, section, number, *queues[step.queue], traffic);
      if (!work.ok())
        return work.status().annotate(section.name);
      algorithm = (*work)->algorithm();
      step.work = std::move(*work);
    } else {
      step.work = std::make_unique<ShownWork>(plan, *command, section.name + " " + std::to_string(number), memory);
    }
    if (options.delaySeed) // each command of each rank has a sequence of its own
      step.work = std::make_unique<DelayedWork>(
          std::move(step.work), options.delaySeed * 1000003 + bootstrap.rank() * 10007 + sections.size() * 101 + number);
    if (times) {
      TracedCommand traced = describeCommand(plan, *command, section.name, number);
      traced.algorithm = std::move(algorithm);
      step.work = times->time(std::move(step.work), step.queue, traced, queues[step.queue]->stream());
    }
    for (uint32_t event : records(command->waits()))
      step.waits.push_back(section.events[event].get());
    for (uint32_t event : records(command->carried()))
      step.carried.push_back(update->events[event].get());
    for (uint32_t event : records(command->early())) {
      step.early.push_back(update->events[event].get());
      step.after = std::max(step.after, findRecorder(*zero::findSection(plan, "update"), event));
    }
    if (!section.steps.empty())
      step.after = std::max(step.after, section.steps.back().after);
    step.collective = command->action_as_Collective();
    if (step.collective && step.collective->outlasts())
      section.outlasting[step.queue] = true;
    if (command->record() >= 0)
      step.record = section.events[static_cast<size_t>(command->record())].get();
    section.steps.push_back(std::move(step));
  }
  return {};
}

Status Executor::Impl::build() {
  size_t longest = 0; // waits, works and records of any section, and what surrounds it on a device with streams
  size_t outlasting = 0; // of commands that the next section finds in its queue
  for (const schema::Section *section : records(plan.sections())) {
    size_t entries = 8;
    for (const schema::Command *command : records(section->commands())) {
      size_t own = records(command->waits()).size() + records(command->carried()).size() + records(command->early()).size() + 2;
      entries += own;
      if (const schema::Collective *collective = command->action_as_Collective(); collective && collective->outlasts())
        outlasting += own;
    }
    longest = std::max(longest, entries);
  }
  longest += outlasting;
  StreamDevice *streams = device->streams();
  const bool threads = !commands || commands->needsThreads();
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    const bool isCompute = queue == static_cast<size_t>(schema::QueueKind::compute);
    QueueOptions queueOptions = {schema::EnumNameQueueKind(static_cast<schema::QueueKind>(queue)), longest};
    // Delayed, a queue of the host may lag behind what is submitted, too.
    queueOptions.onCallingThread = isCompute ? streams || !options.delaySeed : !threads;
    // The others' work is short and waited for.
    queueOptions.priority = isCompute ? 0 : -1;
    queues[queue] = device->createQueue(queueOptions, bootstrap.failure());
  }
  if (bootstrap.failure().raised()) // by a queue that cannot be made
    return bootstrap.failure().status();
  if (streams) {
    copyIn = device->createQueue({"copy_in", 0, /*onCallingThread=*/true, /*priority=*/-1}, bootstrap.failure());
    inputsRead = device->createEvent("inputs read");
    inputsSent = device->createEvent("inputs sent");
    ZERO_ASSIGN_OR_RETURN(gradients, StreamGradients::create(plan, memory, *streams, *commands->program(), bootstrap.rank()));
  }
  if (bootstrap.failure().raised())
    return bootstrap.failure().status();
  if (streams && options.measuresWaits) {
    ZERO_ASSIGN_OR_RETURN(waitMarks, commands->createMarks());
  }
  if (streams && options.trace)
    times = std::make_unique<StreamTimes>(*streams, *options.trace);
  if (streams)
    onStreams = std::make_unique<StreamSections>(
        *streams, queues, StreamSectionsOptions{threads, /*captures=*/!options.trace && !options.delaySeed, waitMarks.get()}, bootstrap.failure());
  sections.resize(records(plan.sections()).size());
  CommandFactory factory(plan, memory, commands.get(), bootstrap.view(), times ? nullptr : options.trace);
  // Of all sections first: one waits for events of another.
  for (size_t i = 0; i < sections.size(); ++i) {
    const schema::Section &record = *records(plan.sections())[static_cast<uint32_t>(i)];
    sections[i].name = text(record.name());
    for (uint32_t event = 0; event < record.events(); ++event)
      sections[i].events.push_back(device->createEvent(sections[i].name + ".e" + std::to_string(event)));
  }
  microFirst = findSection("micro_first");
  microNext = findSection("micro_next");
  update = findSection("update");
  predict = findSection("predict");
  if (microFirst)
    microFirst->beginsStep = true;
  for (size_t i = 0; i < sections.size(); ++i)
    ZERO_RETURN_IF_ERROR(buildSection(*records(plan.sections())[static_cast<uint32_t>(i)], factory, sections[i]));
  return {};
}

/// Hands those early commands of `next` to their queue that come behind command `after` of the update, which runs for the
/// `updates`th time.
void Executor::Impl::submitEarly(Section &next, size_t after, uint64_t updates) {
  for (; next.submitted < next.steps.size(); ++next.submitted) {
    Step &step = next.steps[next.submitted];
    if (step.early.empty() || step.after > after)
      return;
    Queue &queue = *queues[step.queue];
    for (Event *event : step.early)
      queue.wait(*event, updates);
    gathered.acquire(step.gathered);
    queue.submit(*step.work);
    if (step.record)
      queue.record(*step.record, next.instance + 1);
    outlasting[step.queue] = true;
  }
}

/// Hands a section's commands to their queues, but for those that were submitted early, and early ones of `next` (null: none).
void Executor::Impl::submit(Section &section, Section *next) {
  const uint64_t instance = ++section.instance;
  const size_t submitted = std::exchange(section.submitted, 0);
  outlasting = section.outlasting;
  for (size_t place = 0; place < section.steps.size(); ++place) {
    Step &step = section.steps[place];
    // Bytes are those of the step that needs them.
    if (step.collective)
      traffic.add(*step.collective);
    if (place < submitted) {
      gathered.release(step.gathered);
    } else {
      for (Event *event : step.carried)
        queues[step.queue]->wait(*event, update->instance);
      submitStep(step, *queues[step.queue], instance, gathered);
    }
    if (next)
      submitEarly(*next, place, instance);
  }
}

/// `followed`: micro_first comes next, so that its early commands may run.
Status Executor::Impl::runSection(Section &section, bool followed) {
  // What outlasts a section is awaited command by command in the one that has been proved against it. (Streams wait by themselves.)
  if (&section != microFirst && onStreams)
    dropEarly();
  else if (&section != microFirst)
    ZERO_RETURN_IF_ERROR(finish(section.name));
  bootstrap.view().moveTo(section.runs->place);
  if (onStreams)
    return runOnStreams(section, followed);
  submit(section, followed ? microFirst : nullptr);
  compute().finish();
  CommunicationClock::Clock::time_point computed = CommunicationClock::Clock::now();
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (queues[queue].get() != &compute() && !outlasting[queue])
      queues[queue]->finish();
  exposedAtEnds += CommunicationClock::Clock::now() - computed;
  return bootstrap.failure().raised() ? bootstrap.failure().status().annotate(section.name) : Status();
}

/// Bytes and gathered elements of a section, as `submit` counts them: streams are given commands in another order.
void Executor::Impl::countOnStreams(const Section &section, const Section *next) {
  size_t early = 0;
  for (size_t place = 0; place < section.steps.size(); ++place) {
    const Step &step = section.steps[place];
    if (step.collective)
      traffic.add(*step.collective);
    if (place >= section.submitted)
      gathered.acquire(step.gathered);
    gathered.release(step.gathered);
    for (; next && early < next->steps.size() && !next->steps[early].early.empty() && next->steps[early].after <= place; ++early)
      gathered.acquire(next->steps[early].gathered);
  }
}

Status Executor::Impl::runOnStreams(Section &section, bool followed) {
  Section *next = &section == update ? microFirst : nullptr;
  followed = followed && next;
  const uint64_t step = bootstrap.view().own().step.load(std::memory_order_relaxed);
  section.runs->submit(section.instance + 1, step);
  if (followed)
    next->runs->submit(next->instance + 1, step + 1);
  countOnStreams(section, followed ? next : nullptr);
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    outlasting[queue] = outlasting[queue] || section.outlasting[queue];
  if (times)
    ZERO_RETURN_IF_ERROR(times->begin(compute().stream(), bootstrap.failure()));
  Status status = onStreams->run(section, next, followed, update ? update->instance : 0);
  if (followed)
    for (size_t early = 0; early < next->submitted; ++early)
      outlasting[next->steps[early].queue] = true;
  if (!times || !status.ok())
    return status;
  for (std::unique_ptr<Queue> &queue : queues)
    queue->finish();
  if (bootstrap.failure().raised())
    return bootstrap.failure().status();
  return times->collect();
}

Status Executor::Impl::receive(HostSlices &slices) {
  // What is there is taken, whatever has happened since.
  ZERO_RETURN_IF_ERROR(slices.wait(bootstrap.failure()));
  ZERO_RETURN_IF_ERROR(report.wait(bootstrap.failure()));
  if (!onStreams && bootstrap.failure().raised())
    return bootstrap.failure().status();
  return report.size() ? commands->readReport(report.at(0)) : Status();
}

Status Executor::Impl::sendInputs(const std::vector<bool> &takes) {
  if (!commands || !copyIn)
    return commands ? inputs.send(compute(), takes, bootstrap.failure()) : Status();
  copyIn->wait(*inputsRead, reads);
  ZERO_RETURN_IF_ERROR(inputs.send(*copyIn, takes, bootstrap.failure()));
  copyIn->record(*inputsSent, ++sends);
  compute().wait(*inputsSent, sends);
  return {};
}

void Executor::Impl::inputsAreRead() {
  if (copyIn)
    compute().record(*inputsRead, ++reads);
}

/// Numbers of the step that are in `slices`: those that are read before `update`, or the others.
void Executor::Impl::readResults(const HostSlices &slices, bool before) {
  size_t index = 0;
  float skipped = 0;
  for (const schema::StepResult *result : records(plan.step_results())) {
    std::string_view kind = text(result->kind());
    if (isReadBefore(kind) != before)
      continue;
    auto read = [source = slices.at(index++)](auto &value) { std::memcpy(&value, source, sizeof value); };
    if (kind == "loss_sum")
      read(results.ownLossSum);
    else if (kind == "loss_scale")
      read(results.lossScale);
    else if (kind == "loss")
      read(results.loss);
    else if (kind == "grad_norm")
      read(results.gradNorm);
    else if (kind == "label_count")
      read(results.labelCount);
    else if (kind == "skipped")
      read(skipped);
  }
  if (!before)
    results.skipped = skipped != 0;
}

/// What was submitted early is gone with what runs now; its events have counted a run.
void Executor::Impl::dropEarly() {
  if (!microFirst || !microFirst->submitted)
    return;
  for (size_t place = 0; place < microFirst->submitted; ++place)
    gathered.drop(microFirst->steps[place].gathered);
  microFirst->submitted = 0;
  ++microFirst->instance;
}

/// Until nothing is left of the section that ran last.
Status Executor::Impl::finish(std::string_view section) {
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (std::exchange(outlasting[queue], false))
      queues[queue]->finish();
  if (onStreams)
    compute().finish();
  dropEarly();
  return bootstrap.failure().raised() ? bootstrap.failure().status().annotate(std::string(section)) : Status();
}

Section *Executor::Impl::findSection(std::string_view name) {
  for (Section &section : sections)
    if (section.name == name)
      return &section;
  return nullptr;
}

Status Executor::Impl::run(Section *section, std::string_view name, bool followed) {
  if (section)
    return runSection(*section, followed);
  return Status::badInput("the plan has no section '" + std::string(name) + "'");
}

Executor::Executor(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Executor::~Executor() = default;

Expected<std::unique_ptr<Executor>> Executor::create(const Container &container, Bootstrap &bootstrap,
                                                     const ExecutorOptions &options) {
  ZERO_RETURN_IF_ERROR(agreeOnProgram(container, bootstrap));
  if (Status fits = checkWorldSize(container, bootstrap.size()); !fits.ok())
    return bootstrap.agree(fits);

  auto impl = std::make_unique<Impl>(container, bootstrap, options);
  ZERO_RETURN_IF_ERROR(bootstrap.agree(impl->createDevice()));
  if (impl->commands)
    ZERO_RETURN_IF_ERROR(impl->commands->agree(container, bootstrap));
  ZERO_RETURN_IF_ERROR(bootstrap.agree(impl->allocate()));
  ZERO_RETURN_IF_ERROR(bootstrap.share(impl->memory.shared()));
  ZERO_RETURN_IF_ERROR(impl->createChannels());
  ZERO_RETURN_IF_ERROR(bootstrap.agree(impl->build()));
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

void *Executor::input(size_t index) const { return impl->inputs.at(index); }

Status Executor::runMicroBatch(unsigned number) {
  ZERO_RETURN_IF_ERROR(impl->sendInputs({}));
  ZERO_RETURN_IF_ERROR(number == 0 ? impl->run(impl->microFirst, "micro_first") : impl->run(impl->microNext, "micro_next"));
  impl->inputsAreRead();
  return {};
}

Status Executor::finish() { return impl->finish("update"); }

Status Executor::close() {
  ZERO_RETURN_IF_ERROR(impl->finish("update"));
  for (std::unique_ptr<Queue> &queue : impl->queues)
    queue->finish();
  if (impl->bootstrap.failure().raised())
    return impl->bootstrap.failure().status();
  impl->onStreams.reset(); // graphs hold on to the communicators whose collectives they captured
  return impl->commands ? impl->commands->close() : Status();
}

Status Executor::runPredict() {
  if (!impl->commands)
    return impl->run(impl->predict, "predict");
  std::vector<bool> read;
  for (const schema::Input *input : records(impl->plan.inputs()))
    read.push_back(input->predict());
  ZERO_RETURN_IF_ERROR(impl->sendInputs(read));
  ZERO_RETURN_IF_ERROR(impl->run(impl->predict, "predict"));
  impl->inputsAreRead();
  ZERO_RETURN_IF_ERROR(impl->outputs.fetch(impl->compute()));
  ZERO_RETURN_IF_ERROR(impl->report.fetch(impl->compute()));
  return impl->receive(impl->outputs);
}

const std::byte *Executor::output(size_t index) const { return impl->outputs.at(index); }

Status Executor::runUpdate(uint64_t step, bool followed) {
  if (!impl->commands) // there is no memory to write scalars to
    return impl->run(impl->update, "update", followed);
  size_t index = 0;
  for (const schema::StepScalar *scalar : records(impl->plan.step_scalars())) {
    double value = scalar->value();
    if (text(scalar->kind()) == "skip_non_finite")
      value = impl->options.skipNonFinite ? 1.0 : 0.0;
    else if (text(scalar->kind()) != "learning_rate")
      value = 1.0 - std::pow(value, static_cast<double>(step));
    float rounded = static_cast<float>(value);
    std::memcpy(impl->scalars.at(index++), &rounded, sizeof rounded);
  }
  ZERO_RETURN_IF_ERROR(impl->scalars.send(impl->compute(), {}, impl->bootstrap.failure()));
  ZERO_RETURN_IF_ERROR(impl->before.fetch(impl->compute()));
  impl->results = {};
  if (!impl->device->streams()) // in place, until the update has run
    impl->readResults(impl->before, /*before=*/true);
  ZERO_RETURN_IF_ERROR(impl->run(impl->update, "update", followed));
  if (impl->gradients)
    ZERO_RETURN_IF_ERROR(impl->gradients->enqueue(impl->compute().stream()));
  ZERO_RETURN_IF_ERROR(impl->after.fetch(impl->compute()));
  return impl->report.fetch(impl->compute());
}

bool Executor::runsAhead() const { return impl->onStreams && !impl->times; }

Status Executor::awaitUpdate() {
  if (impl->onStreams)
    impl->bootstrap.view().moveTo(impl->update->runs->place);
  ZERO_RETURN_IF_ERROR(impl->receive(impl->after));
  if (impl->device->streams()) // behind `before` on the same stream
    impl->readResults(impl->before, /*before=*/true);
  impl->readResults(impl->after, /*before=*/false);
  return {};
}

StepResults Executor::results() const { return impl->results; }

Expected<std::string> Executor::nonFiniteGradients() const {
  if (impl->gradients)
    return impl->gradients->read();
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

uint64_t Executor::bytesOmitted() const { return impl->commands->bytesOmitted(); }

CommunicationTimes Executor::communicationTimes() {
  if (impl->onStreams) {
    impl->commands->collect();
    return {impl->traffic.intervals.seconds(), impl->onStreams->waitedSeconds()};
  }
  // All events that the compute queue waits for are those of collectives: nothing else runs elsewhere.
  const Queue &compute = *impl->queues[static_cast<size_t>(schema::QueueKind::compute)];
  return {impl->traffic.clock.seconds(), static_cast<double>(compute.waitedNanoseconds()) * 1e-9 +
                                             std::chrono::duration<double>(impl->exposedAtEnds).count()};
}

uint64_t Executor::peakGatheredElements() const { return impl->gathered.peak(); }
uint64_t Executor::deviceBytes() const { return impl->memory.deviceBytes(); }
std::string Executor::deviceDescription() const { return impl->commands->description(); }
std::vector<std::string> Executor::notes() const { return impl->commands->notes(); }

Expected<std::optional<uint64_t>> Executor::otherDeviceBytes() const {
  StreamDevice *streams = impl->device->streams();
  if (!streams)
    return std::optional<uint64_t>();
  ZERO_ASSIGN_OR_RETURN(uint64_t used, streams->usedBytes());
  return std::optional<uint64_t>(used - std::min(used, impl->memory.deviceBytes()));
}

Executor::Parameters Executor::parameters(size_t bucket) const {
  (void)impl->finish("update"); // whoever trained has asked for its status
  impl->memory.readAnew();
  const schema::State *state = findExported(impl->plan, bucket);
  return state ? Parameters{state->slice()->size(), state->sharded()} : Parameters{0, false};
}

Expected<const std::byte *> Executor::readParameters(size_t bucket, uint64_t offset, uint64_t size) const {
  const schema::Slice &slice = *findExported(impl->plan, bucket)->slice();
  return impl->memory.read(slice, offset, size, slice.size() - offset - size);
}

Status checkWorldSize(const Container &container, unsigned ranks) {
  const unsigned compiled = container.plan().world_size();
  if (compiled == ranks)
    return {};
  return Status::badInput("'" + container.path() + "' is compiled for " + std::to_string(compiled) + " ranks, this job has " +
                          std::to_string(ranks) + "; start it with mpirun -n " + std::to_string(compiled) + ", or recompile with: " +
                          recompileCommand(container, ranks));
}

std::string recompileCommand(const Container &container, unsigned worldSize) {
  const schema::Plan &plan = container.plan();
  std::string command(text(plan.command()));
  if (command.empty())
    command = "zero-compile " + quoteForShell(text(plan.model()));
  return command + " --world-size=" + std::to_string(worldSize) + " -o " + quoteForShell(container.path());
}

} // namespace zero
