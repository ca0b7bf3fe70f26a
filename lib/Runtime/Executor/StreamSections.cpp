//===- StreamSections.cpp - Sections on a device with streams -------------===//
#include "lib/Runtime/Executor/StreamSections.h"
#include <algorithm>

namespace zero {

namespace {

enum WaitMark : uint64_t { kWaitBegins, kWaitEnds };

bool outlasts(const Step &step) { return step.collective && step.collective->outlasts(); }
bool waits(const Step &step) { return !step.waits.empty() || !step.carried.empty(); }

} // namespace

/// Runs of commands of the compute queue that wait for no event behind the first, and record none before the last.
std::vector<StreamSections::Part> StreamSections::partsOf(const Section &section) const {
  std::vector<Part> parts;
  bool open = false; // the last part may grow
  for (size_t i = 0; i < section.steps.size(); ++i) {
    const Step &step = section.steps[i];
    if (outlasts(step))
      continue;
    const bool captured = step.queue == kCompute && options.captures;
    if (open && captured && !waits(step) && parts.back().end == i)
      parts.back().end = i + 1;
    else
      parts.push_back({i, i + 1, captured, nullptr});
    open = captured && !step.record;
  }
  return parts;
}

StreamSections::Frame &StreamSections::frameOf(const Section &section, const Section *next) {
  auto found = std::find_if(frames.begin(), frames.end(), [&](const Frame &frame) { return frame.section == &section; });
  if (found != frames.end())
    return *found;
  Frame &frame = frames.emplace_back();
  frame.section = &section;
  frame.parts = partsOf(section);
  frame.begins = device.createEvent(section.name + ".begins");
  frame.opens = device.createEvent(section.name + ".opens");
  for (size_t i = 0; i < section.steps.size(); ++i) {
    const Step &step = section.steps[i];
    if (step.record)
      frame.recorders[step.record] = i;
    if (outlasts(step))
      frame.behind.push_back(i);
    else
      frame.forks[step.queue] |= step.queue != kCompute;
  }
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (frame.forks[queue])
      frame.ends[queue] = device.createEvent(section.name + ".ends" + std::to_string(queue));
  auto isForOutside = [&](const Event *event) {
    std::unique_ptr<Event> &outside = frame.outside[event];
    if (!outside)
      outside = device.createEvent(section.name + ".outside");
  };
  for (size_t i : frame.behind)
    for (const Event *event : section.steps[i].waits)
      isForOutside(event);
  if (next)
    for (const Step &step : next->steps)
      for (const Event *event : step.early)
        isForOutside(event);
  return frame;
}

template <typename Body> void StreamSections::waitOnCompute(Body waits) {
  auto mark = [&](WaitMark what) {
    if (options.waits)
      note(options.waits->put(what, compute().stream()));
  };
  mark(kWaitBegins);
  waits();
  mark(kWaitEnds);
}

std::optional<double> StreamSections::waitedSeconds() {
  if (!options.waits)
    return std::nullopt;
  options.waits->take([this](const StreamMarks::Passed &mark) {
    if (mark.what == kWaitBegins)
      waitBegan = mark.time;
    else
      waited += std::max<int64_t>(mark.time - waitBegan - options.waits->leastGap(), 0);
  });
  return static_cast<double>(waited) * 1e-9;
}

void StreamSections::wait(const Step &step, const Pass &pass) {
  Queue &queue = *queues[step.queue];
  auto fromOutside = [&](Event &event, uint64_t value) {
    if (pass.captures)
      note(device.waitFromGraph(event, queue.stream()));
    else
      queue.wait(event, value);
  };
  for (Event *event : step.waits)
    if (pass.frame.recorders.at(event) < pass.begin)
      fromOutside(*event, pass.instance);
    else
      queue.wait(*event, pass.instance);
  for (Event *event : step.carried)
    fromOutside(*event, pass.updates);
}

/// Submits a step with its events.
void StreamSections::submit(Step &step, const Pass &pass) {
  Queue &queue = *queues[step.queue];
  if (step.queue == kCompute && waits(step))
    waitOnCompute([&] { wait(step, pass); });
  else
    wait(step, pass);
  queue.submit(*step.work);
  if (!step.record)
    return;
  queue.record(*step.record, pass.instance);
  auto outside = pass.frame.outside.find(step.record);
  if (outside == pass.frame.outside.end() || options.threads)
    return;
  if (pass.captures)
    note(device.recordFromGraph(*outside->second, queue.stream()));
  else
    queue.record(*outside->second, pass.instance);
}

void StreamSections::fork(const Pass &pass) {
  compute().record(*pass.frame.begins, pass.instance);
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (pass.frame.forks[queue]) {
      queues[queue]->wait(*pass.frame.begins, pass.instance);
      // Outside of a graph the stream itself goes on behind what it holds.
      if (pass.captures && crossings[queue])
        note(device.waitFromGraph(*across[queue], queues[queue]->stream()));
    }
}

void StreamSections::join(const Pass &pass) {
  const auto &forks = pass.frame.forks;
  if (std::find(forks.begin(), forks.end(), true) == forks.end())
    return;
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (forks[queue])
      queues[queue]->record(*pass.frame.ends[queue], pass.instance);
  waitOnCompute([&] {
    for (size_t queue = 0; queue < kQueueCount; ++queue)
      if (forks[queue])
        compute().wait(*pass.frame.ends[queue], pass.instance);
  });
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

Status StreamSections::runWhole(Section &section, Pass pass) {
  Frame &frame = pass.frame;
  auto submitAll = [&] {
    fork(pass);
    for (size_t i = pass.begin; i < section.steps.size(); ++i)
      if (!outlasts(section.steps[i]))
        submit(section.steps[i], pass);
    join(pass);
  };
  const bool crossed = crossings != decltype(crossings)();
  if (frame.graph && frame.graphWaits != crossed)
    frame.graph.reset();
  // A graph begins where most runs do: the first of all has no early commands.
  if (!options.captures || pass.instance == 1 || (frame.graph && frame.graphBegin != pass.begin)) {
    submitAll();
    return {};
  }
  if (!frame.graph) {
    pass.captures = true;
    frame.graphBegin = pass.begin;
    frame.graphWaits = crossed;
    ZERO_RETURN_IF_ERROR(capture(frame.graph, submitAll));
  }
  ZERO_RETURN_IF_ERROR(frame.graph->launch(compute().stream()));
  for (const auto &[event, outside] : frame.outside)
    device.recordedByGraph(*outside, pass.instance);
  return {};
}

Status StreamSections::runParts(Section &section, const Pass &pass) {
  fork(pass);
  for (Part &part : pass.frame.parts) {
    if (part.begin < pass.begin)
      continue;
    if (failure.raised())
      return failure.status();
    Step &first = section.steps[part.begin], &last = section.steps[part.end - 1];
    if (!part.isCaptured || pass.instance == 1) {
      for (size_t i = part.begin; i < part.end; ++i)
        submit(section.steps[i], pass);
      continue;
    }
    if (!part.graph)
      ZERO_RETURN_IF_ERROR(capture(part.graph, [&] {
        for (size_t i = part.begin; i < part.end; ++i)
          compute().submit(*section.steps[i].work);
      }));
    if (waits(first))
      waitOnCompute([&] { wait(first, pass); });
    ZERO_RETURN_IF_ERROR(part.graph->launch(compute().stream()));
    if (last.record)
      compute().record(*last.record, pass.instance);
  }
  join(pass);
  return {};
}

void StreamSections::submitAcross(Section &section, Section *next, const Pass &pass) {
  std::array<bool, kQueueCount> opened = {};
  auto put = [&](Step &step, const std::vector<Event *> &waits, uint64_t instance) {
    Queue &queue = *queues[step.queue];
    if (!std::exchange(opened[step.queue], true))
      queue.wait(*pass.frame.opens, pass.instance);
    for (Event *event : waits)
      queue.wait(options.threads ? *event : *pass.frame.outside.at(event), pass.instance);
    queue.submit(*step.work);
    if (step.record)
      queue.record(*step.record, instance);
  };
  for (size_t i : pass.frame.behind)
    put(section.steps[i], section.steps[i].waits, pass.instance);
  if (next)
    for (; next->submitted < next->steps.size() && !next->steps[next->submitted].early.empty(); ++next->submitted)
      put(next->steps[next->submitted], next->steps[next->submitted].early, next->instance + 1);
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (opened[queue]) {
      if (!across[queue])
        across[queue] = device.createEvent("across" + std::to_string(queue));
      queues[queue]->record(*across[queue], ++crossings[queue]);
    }
}

void StreamSections::joinAcross() {
  if (crossings == joined)
    return;
  waitOnCompute([&] {
    for (size_t queue = 0; queue < kQueueCount; ++queue)
      if (crossings[queue] != std::exchange(joined[queue], crossings[queue]))
        compute().wait(*across[queue], crossings[queue]);
  });
}

Status StreamSections::run(Section &section, Section *next, bool followed, uint64_t updates) {
  ++section.instance;
  if (failure.raised())
    return failure.status();
  const Pass pass = {frameOf(section, next), section.instance, updates, std::exchange(section.submitted, 0)};
  if (!followed)
    next = nullptr;
  if (!section.beginsStep)
    joinAcross();
  const bool crosses = !pass.frame.behind.empty() || (next && !next->steps.empty() && !next->steps.front().early.empty());
  if (crosses)
    compute().record(*pass.frame.opens, section.instance);
  // A queue with a thread of its own waits there until what it waits for is on its stream; otherwise that has to be there first.
  if (crosses && options.threads)
    submitAcross(section, next, pass);
  Status status = options.threads ? runParts(section, pass) : runWhole(section, pass);
  if (status.ok() && crosses && !options.threads)
    submitAcross(section, next, pass);
  if (!status.ok())
    failure.raise(status);
  return failure.raised() ? failure.status() : Status();
}

} // namespace zero
