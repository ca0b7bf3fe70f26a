//===- Commands.cpp - The records of a plan, ready to run -----------------===//
#include "lib/Runtime/Executor/Commands.h"
#include "zero/Container/CommandText.h"
#include "zero/Runtime/Kernels/SliceBytes.h"
#include <cstring>

namespace zero {

Status CommandWork::run() {
  if (!trace) {
    Status status = execute();
    return status.ok() ? status : status.annotate(origin);
  }
  int64_t begin = traceClock(), computed = threadClock();
  Status status = execute();
  computed = threadClock() - computed;
  trace->record(queue, tracedAs, begin, traceClock(), computed);
  return status.ok() ? status : status.annotate(origin);
}

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
  CopyWork(const void *source, void *target, size_t size) : source(source), target(target), size(size) {}
  Status execute() override {
    std::memmove(target, source, size);
    return {};
  }

private:
  const void *source;
  void *target;
  size_t size;
};

class ZeroWork final : public CommandWork {
public:
  explicit ZeroWork(std::vector<std::pair<void *, size_t>> targets) : targets(std::move(targets)) {}
  Status execute() override {
    for (auto [target, size] : targets)
      std::memset(target, 0, size);
    return {};
  }

private:
  std::vector<std::pair<void *, size_t>> targets;
};

class CollectiveWork final : public CommandWork {
public:
  CollectiveWork(const schema::Collective &record, const Memory &memory, Channel &channel, uint32_t name,
                 std::atomic<uint64_t> &counter, CommunicationClock &clock)
      : kind(record.kind()), element(record.element()), resultElement(targetElement(record)), source(memory.at(*record.source())),
        target(memory.at(*record.target())), staging(record.staging() ? memory.at(*record.staging()) : nullptr),
        size(record.kind() == schema::CollectiveKind::reduce_scatter ? record.target()->size() : record.source()->size()), channel(channel),
        name(name), counter(counter), clock(clock) {}

  Status execute() override {
    uint64_t before = channel.bytesSent();
    channel.announce(name);
    clock.begin();
    Status exchanged = exchange();
    clock.end();
    ZERO_RETURN_IF_ERROR(exchanged);
    counter.fetch_add(channel.bytesSent() - before, std::memory_order_relaxed);
    return {};
  }

private:
  Status exchange() {
    switch (kind) {
    case schema::CollectiveKind::all_gather:
      return channel.allGather(source, target, size);
    case schema::CollectiveKind::reduce_scatter:
      return channel.reduceScatter(source, static_cast<FloatType>(element), target, static_cast<FloatType>(resultElement), size / elementBytes(resultElement),
                                   staging);
    case schema::CollectiveKind::control_sum:
      if (element == schema::ElementType::i64)
        return channel.sum(reinterpret_cast<const int64_t *>(source), reinterpret_cast<int64_t *>(target),
                           size / sizeof(int64_t), staging);
      return channel.sum(reinterpret_cast<const float *>(source), reinterpret_cast<float *>(target), size / sizeof(float),
                         staging);
    }
    return {};
  }

  schema::CollectiveKind kind;
  schema::ElementType element, resultElement;
  std::byte *source, *target, *staging;
  uint64_t size;
  Channel &channel;
  uint32_t name;
  std::atomic<uint64_t> &counter;
  CommunicationClock &clock;
};

/// How many pointers a kernel of the library takes, from its table and its parameters.
Expected<size_t> pointersOf(const std::string &name, const std::vector<int64_t> &integers) {
  auto integer = [&](size_t i) { return i < integers.size() ? integers[i] : 0; };
  size_t variable = 0;
  if (name == "attention")
    variable = 3 + (integer(8) ? 1 : 0);
  else if (name == "attention_grad")
    variable = 6 + (integer(8) ? 1 : 0);
  else if (name == "sum_squares")
    variable = integers.empty() ? 0 : integers.size() - 1;
  static constexpr struct {
    std::string_view name;
    int reads, writes;
  } kTable[] = {
#define ZERO_KERNEL(name, factory, reads, writes) {#name, reads, writes},
#include "zero/Runtime/Kernels/KernelTable.inc"
  };
  for (const auto &entry : kTable)
    if (entry.name == name)
      return (entry.reads < 0 ? variable : static_cast<size_t>(entry.reads)) + static_cast<size_t>(entry.writes);
  return Status::badInput("the library has no kernel '" + name + "'");
}

/// A kernel reaches no further than the slices that the plan gives it.
Status checkSliceBytes(const std::string &name, const std::vector<int64_t> &integers, const schema::Dispatch &dispatch) {
  auto needed = kernelSliceBytes(name, integers);
  if (!needed)
    return {}; // too few integers: prepareKernel says which
  size_t index = 0;
  for (const auto *slices : {dispatch.reads(), dispatch.writes()})
    for (const schema::Slice *slice : records(slices)) {
      if (index < needed->size() && slice->size() < (*needed)[index])
        return Status::badInput("kernel '" + name + "' reaches over " + std::to_string((*needed)[index]) + " bytes of slice " +
                                std::to_string(index) + ", which has " + std::to_string(slice->size()));
      ++index;
    }
  return {};
}

} // namespace

Expected<std::shared_ptr<Kernel>> CommandFactory::libraryKernel(const std::string &name, const schema::Dispatch &dispatch,
                                                 schema::QueueKind queue) {
  std::vector<int64_t> integers;
  for (int64_t value : records(dispatch.integers()))
    integers.push_back(value);
  std::vector<double> reals;
  for (double value : records(dispatch.reals()))
    reals.push_back(value);
  ZERO_ASSIGN_OR_RETURN(size_t pointers, pointersOf(name, integers));
  if (size_t given = records(dispatch.reads()).size() + records(dispatch.writes()).size(); given != pointers)
    return Status::badInput("kernel '" + name + "' takes " + std::to_string(pointers) + " slices, the plan gives " +
                            std::to_string(given));
  ZERO_RETURN_IF_ERROR(checkSliceBytes(name, integers, dispatch));
  std::string key = name + '\0' + static_cast<char>(queue);
  key.append(reinterpret_cast<const char *>(integers.data()), integers.size() * sizeof(int64_t));
  key += '\0';
  key.append(reinterpret_cast<const char *>(reals.data()), reals.size() * sizeof(double));
  std::shared_ptr<Kernel> &kernel = kernels[key];
  if (!kernel) {
    ZERO_ASSIGN_OR_RETURN(kernel, prepareKernel(name, integers, reals, kernelOptions));
  }
  return kernel;
}

Expected<std::unique_ptr<CommandWork>> CommandFactory::makeDispatch(const schema::Dispatch &dispatch,
                                                                    schema::QueueKind queue) {
  const schema::Kernel *record = records(plan.kernels())[dispatch.kernel()];
  std::string name(text(record->name()));
  ParallelFor &parallel = queue == schema::QueueKind::compute ? compute : others;
  std::vector<void *> pointers;
  for (const auto *slices : {dispatch.reads(), dispatch.writes()})
    for (const schema::Slice *slice : records(slices))
      pointers.push_back(memory.at(*slice));
  if (record->generated()) {
    ZERO_ASSIGN_OR_RETURN(GeneratedKernel kernel, library->find(name));
    return std::unique_ptr<CommandWork>(std::make_unique<GeneratedDispatch>(
        kernel, static_cast<int64_t>(record->items()), std::move(pointers), parallel));
  }
  ZERO_ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, libraryKernel(name, dispatch, queue));
  return std::unique_ptr<CommandWork>(std::make_unique<LibraryDispatch>(std::move(kernel), std::move(pointers), parallel));
}

/// "all_gather b2 (h.0.attn.weight ...)": the bucket and its first parameters, or what a control sum is of.
JobView::Name CommandFactory::nameOf(const schema::Collective &collective) const {
  JobView::Name name = {schema::EnumNameCollectiveKind(collective.kind()), std::string(text(collective.label())), "", ""};
  name.text = name.kind + " " + name.label;
  for (const schema::Bucket *bucket : records(plan.buckets())) {
    auto slots = records(bucket->slots());
    if (text(bucket->name()) != name.label || !slots.size())
      continue;
    name.parameter = text(slots[0]->name());
    name.text += " (" + name.parameter + (slots.size() > 1 ? " ...)" : ")");
    break;
  }
  return name;
}

Expected<std::unique_ptr<CommandWork>> CommandFactory::makeAction(const schema::Command &command, TrafficCounters &traffic,
                                                                  std::string &label) {
  switch (command.action_type()) {
  case schema::Action::Dispatch: {
    const schema::Dispatch &dispatch = *command.action_as_Dispatch();
    label = text(records(plan.kernels())[dispatch.kernel()]->name());
    return makeDispatch(dispatch, command.queue());
  }
  case schema::Action::Copy: {
    const schema::Copy &copy = *command.action_as_Copy();
    label = "copy: " + std::string(text(copy.reason()));
    return std::unique_ptr<CommandWork>(
        std::make_unique<CopyWork>(memory.at(*copy.source()), memory.at(*copy.target()), copy.source()->size()));
  }
  case schema::Action::Zero: {
    label = "zero";
    std::vector<std::pair<void *, size_t>> targets;
    for (const schema::Slice *slice : records(command.action_as_Zero()->targets()))
      targets.emplace_back(memory.at(*slice), slice->size());
    return std::unique_ptr<CommandWork>(std::make_unique<ZeroWork>(std::move(targets)));
  }
  case schema::Action::Collective: {
    const schema::Collective &collective = *command.action_as_Collective();
    std::atomic<uint64_t> &counter = collective.kind() == schema::CollectiveKind::all_gather       ? traffic.allGather
                                     : collective.kind() == schema::CollectiveKind::reduce_scatter ? traffic.reduceScatter
                                                                                                   : traffic.control;
    JobView::Name name = nameOf(collective);
    label = name.text;
    return std::unique_ptr<CommandWork>(std::make_unique<CollectiveWork>(
        collective, memory, *channels[static_cast<size_t>(command.queue())], view.addName(std::move(name)), counter, traffic.clock));
  }
  case schema::Action::NONE:
    break;
  }
  return Status::badInput("a command has no action");
}

Expected<std::unique_ptr<CommandWork>> CommandFactory::make(const schema::Command &command, std::string_view section, uint32_t number,
                                                            TrafficCounters &traffic) {
  std::string label;
  auto made = makeAction(command, traffic, label);
  std::string location(text(command.location()));
  // The label of a collective names a parameter, which may be where the command comes from.
  std::string origin = location.empty() || label.find(location) != std::string::npos ? label : label + " (" + location + ")";
  if (!made.ok())
    return made.status().annotate(origin);
  CommandWork &work = **made;
  work.label = std::move(label);
  work.origin = std::move(origin);
  work.queue = static_cast<size_t>(command.queue());
  if (trace) {
    work.trace = trace;
    work.tracedAs = trace->add({commandTitle(plan, command), std::string(section), commandKind(plan, command), number, command.predicted_ns()});
  }
  return made;
}

} // namespace zero
