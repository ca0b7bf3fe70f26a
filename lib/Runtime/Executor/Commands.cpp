//===- Commands.cpp - The records of a plan, ready to run -----------------===//
#include "lib/Runtime/Executor/Commands.h"
#include "zero/Container/CommandText.h"

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

KernelCall CommandFactory::readCall(const schema::Dispatch &dispatch) const {
  const schema::Kernel *kernel = records(plan.kernels())[dispatch.kernel()];
  KernelCall call = {*kernel, std::string(text(kernel->name())), {}, {}, {}, {}};
  for (int64_t value : records(dispatch.integers()))
    call.integers.push_back(value);
  for (double value : records(dispatch.reals()))
    call.reals.push_back(value);
  for (const auto *slices : {dispatch.reads(), dispatch.writes()})
    for (const schema::Slice *slice : records(slices)) {
      call.pointers.push_back(memory.at(*slice));
      call.sizes.push_back(slice->size());
    }
  return call;
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

std::string CommandFactory::labelOf(const schema::Command &command) const {
  switch (command.action_type()) {
  case schema::Action::Dispatch:
    return std::string(text(records(plan.kernels())[command.action_as_Dispatch()->kernel()]->name()));
  case schema::Action::Copy:
    return "copy: " + std::string(text(command.action_as_Copy()->reason()));
  case schema::Action::Zero:
    return "zero";
  case schema::Action::Collective:
    return nameOf(*command.action_as_Collective()).text;
  case schema::Action::NONE:
    break;
  }
  return "";
}

MadeCommand CommandFactory::makeAction(const schema::Command &command, TrafficCounters &traffic, const CommandPlace &place) {
  switch (command.action_type()) {
  case schema::Action::Dispatch:
    return device->makeKernel(readCall(*command.action_as_Dispatch()), place);
  case schema::Action::Copy: {
    const schema::Copy &copy = *command.action_as_Copy();
    return device->makeCopy(memory.at(*copy.target()), memory.at(*copy.source()), copy.source()->size(), place);
  }
  case schema::Action::Zero: {
    std::vector<ArenaBytes> targets;
    for (const schema::Slice *slice : records(command.action_as_Zero()->targets()))
      targets.push_back({memory.at(*slice), slice->size()});
    return device->makeZero(std::move(targets), place);
  }
  case schema::Action::Collective: {
    const schema::Collective &record = *command.action_as_Collective();
    const bool reduces = record.kind() == schema::CollectiveKind::reduce_scatter;
    return device->makeExchange({record.kind(), record.element(), targetElement(record), memory.at(*record.source()), memory.at(*record.target()),
                                 record.staging() ? memory.at(*record.staging()) : nullptr,
                                 record.staging() ? record.staging()->size() : 0,
                                 reduces ? record.target()->size() : record.source()->size(), view.addName(nameOf(record)), record.wire_bytes(),
                                 traffic.clock, traffic.intervals},
                                place);
  }
  case schema::Action::NONE:
    break;
  }
  return Status::badInput("a command has no action");
}

TracedCommand describeCommand(const schema::Plan &plan, const schema::Command &command, std::string_view section, uint32_t number) {
  return {commandTitle(plan, command), std::string(section), commandKind(plan, command), number, command.predicted_ns()};
}

MadeCommand CommandFactory::make(const schema::Command &command, const Section &section, uint32_t number, const Queue &queue,
                                 TrafficCounters &traffic) {
  std::string label = labelOf(command), location(text(command.location()));
  // The label of a collective names a parameter, which may be where the command comes from.
  std::string origin = location.empty() || label.find(location) != std::string::npos ? label : label + " (" + location + ")";
  // What goes wrong on a stream comes out when another section may be the host's.
  const std::string where = section.name + ": " + origin;
  auto made = makeAction(command, traffic, {command.queue(), queue, *section.runs, where});
  if (!made.ok())
    return made.status().annotate(origin);
  CommandWork &work = **made;
  work.label = std::move(label);
  work.origin = queue.stream() ? where : origin;
  work.queue = static_cast<size_t>(command.queue());
  if (trace) {
    work.trace = trace;
    work.tracedAs = trace->add(describeCommand(plan, command, section.name, number));
  }
  return made;
}

} // namespace zero
