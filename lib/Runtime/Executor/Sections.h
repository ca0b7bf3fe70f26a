//===- Sections.h - The sections of a plan, ready to run ------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_SECTIONS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_SECTIONS_H

#include "lib/Runtime/Executor/GatheredElements.h"
#include "lib/Runtime/Executor/Trace.h"
#include "zero/Runtime/HAL/Queue.h"

namespace zero {

/// A command with the events around it.
struct Step {
  std::unique_ptr<Work> work;
  size_t queue; ///< number of its queue
  std::vector<Event *> waits;
  std::vector<Event *> carried; ///< of section update: as often as that has run
  std::vector<Event *> early;   ///< of section update, in which the command is submitted, behind its command `after`
  size_t after = 0;
  Event *record = nullptr;
  GatherChange gathered;
  const schema::Collective *collective = nullptr;
};

struct Section {
  std::string name;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<Step> steps;
  std::array<bool, kQueueCount> outlasting = {}; ///< queues whose commands the section does not wait for
  uint64_t instance = 0; ///< how often it ran: what its events count
  size_t submitted = 0;  ///< of its commands, the early ones that the section before has submitted for its next run
  uint32_t place = 0;    ///< its name in the view of the job
};

using Queues = std::array<std::unique_ptr<Queue>, kQueueCount>;

/// Submits a step with its events, for the `instance`-th time. On streams all queues join between sections: nothing is early or carried.
inline void submitStep(Step &step, Queue &queue, uint64_t instance, GatheredElements &gathered) {
  for (Event *event : step.waits)
    queue.wait(*event, instance);
  gathered.acquire(step.gathered);
  queue.submit(*step.work);
  gathered.release(step.gathered);
  if (step.record)
    queue.record(*step.record, instance);
}

} // namespace zero

#endif
