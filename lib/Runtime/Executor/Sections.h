//===- Sections.h - The sections of a plan, ready to run ------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_SECTIONS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_SECTIONS_H

#include "lib/Runtime/Executor/GatheredElements.h"
#include "lib/Runtime/Executor/Trace.h"
#include "zero/Runtime/HAL/JobView.h"
#include "zero/Runtime/HAL/Queue.h"

namespace zero {

/// Which steps the runs of a section are of: written when one is submitted, read when the device says what it has come to.
class SectionRuns {
public:
  void submit(uint64_t instance, uint64_t step) { steps[instance % kKept].store(step, std::memory_order_relaxed); }
  JobPlace at(uint64_t instance) const { return {steps[instance % kKept].load(std::memory_order_relaxed), place}; }
  uint32_t place = 0; ///< the section's name in the view of the job

private:
  /// More than are under way at once.
  static constexpr uint64_t kKept = 64;
  std::array<std::atomic<uint64_t>, kKept> steps = {};
};

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
  bool beginsStep = false; ///< proved beside what crosses the end of the step before: its commands wait for what they need of that
  uint64_t instance = 0; ///< how often it ran: what its events count
  size_t submitted = 0;  ///< of its commands, the early ones that the section before has submitted for its next run
  std::unique_ptr<SectionRuns> runs = std::make_unique<SectionRuns>();
};

using Queues = std::array<std::unique_ptr<Queue>, kQueueCount>;

/// Submits a step with its events, for the `instance`-th time.
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
