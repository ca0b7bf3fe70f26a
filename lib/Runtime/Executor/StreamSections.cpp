//===- StreamSections.cpp - Sections on a device with streams -------------===//
#include "lib/Runtime/Executor/StreamSections.h"

namespace zero {

/// Runs of commands of the compute queue that wait for no event behind the first, and record none before the last.
std::vector<StreamSections::Part> StreamSections::partsOf(const Section &section) const {
  std::vector<Part> parts;
  bool open = false; // the last part may grow
  for (size_t i = 0; i < section.steps.size(); ++i) {
    const Step &step = section.steps[i];
    const bool captured = step.queue == kCompute && options.captures;
    if (open && captured && step.waits.empty())
      parts.back().end = i + 1;
    else
      parts.push_back({i, i + 1, captured, nullptr});
    open = captured && !step.record;
  }
  return parts;
}

StreamSections::Frame &StreamSections::frameOf(const Section &section) {
  for (Frame &frame : frames)
    if (frame.section == &section)
      return frame;
  Frame &frame = frames.emplace_back();
  frame.section = &section;
  frame.parts = partsOf(section);
  frame.begins = device.createEvent(section.name + ".begins");
  for (const Step &step : section.steps)
    frame.forks[step.queue] |= step.queue != kCompute;
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (frame.forks[queue])
      frame.ends[queue] = device.createEvent(section.name + ".ends" + std::to_string(queue));
  return frame;
}

void StreamSections::fork(Frame &frame, uint64_t instance) {
  compute().record(*frame.begins, instance);
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (frame.forks[queue])
      queues[queue]->wait(*frame.begins, instance);
}

void StreamSections::join(Frame &frame, uint64_t instance) {
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (frame.forks[queue]) {
      queues[queue]->record(*frame.ends[queue], instance);
      compute().wait(*frame.ends[queue], instance);
    }
}

template <typename Body> Status StreamSections::capture(std::unique_ptr<StreamGraph> &graph, Body body) {
  ZERO_RETURN_IF_ERROR(device.beginCapture(compute().stream()));
  body();
  // In any case: nothing else can be put on a stream while it is captured.
  auto captured = device.endCapture(compute().stream());
  if (failure.raised())
    return failure.status();
  ZERO_ASSIGN_OR_RETURN(graph, std::move(captured));
  return {};
}

Status StreamSections::runWhole(Section &section, Frame &frame) {
  auto submit = [&] {
    fork(frame, section.instance);
    for (Step &step : section.steps)
      submitStep(step, *queues[step.queue], section.instance, gathered);
    join(frame, section.instance);
  };
  if (!options.captures || section.instance == 1) {
    submit();
    return {};
  }
  if (!frame.graph)
    ZERO_RETURN_IF_ERROR(capture(frame.graph, submit));
  return frame.graph->launch(compute().stream());
}

Status StreamSections::runParts(Section &section, Frame &frame) {
  fork(frame, section.instance);
  for (Part &part : frame.parts) {
    if (failure.raised())
      return failure.status();
    Step &first = section.steps[part.begin], &last = section.steps[part.end - 1];
    if (!part.isCaptured || section.instance == 1) {
      for (size_t i = part.begin; i < part.end; ++i)
        submitStep(section.steps[i], *queues[section.steps[i].queue], section.instance, gathered);
      continue;
    }
    if (!part.graph)
      ZERO_RETURN_IF_ERROR(capture(part.graph, [&] {
        for (size_t i = part.begin; i < part.end; ++i) {
          gathered.acquire(section.steps[i].gathered);
          compute().submit(*section.steps[i].work);
          gathered.release(section.steps[i].gathered);
        }
      }));
    for (Event *event : first.waits)
      compute().wait(*event, section.instance);
    ZERO_RETURN_IF_ERROR(part.graph->launch(compute().stream()));
    if (last.record)
      compute().record(*last.record, section.instance);
  }
  join(frame, section.instance);
  return {};
}

Status StreamSections::run(Section &section) {
  ++section.instance;
  if (failure.raised())
    return failure.status();
  Frame &frame = frameOf(section);
  if (Status status = options.threads ? runParts(section, frame) : runWhole(section, frame); !status.ok())
    failure.raise(status);
  return failure.raised() ? failure.status() : Status();
}

} // namespace zero
