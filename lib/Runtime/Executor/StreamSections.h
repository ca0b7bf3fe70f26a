//===- StreamSections.h - Sections on a device with streams ---------------===//
//
// The host does not wait at the end of a section: what follows is put behind it on the compute stream, which waits for the other streams
// at the end of each section as they wait for it at the beginning. So on the device all queues are idle between sections, as a plan
// supposes. What a section submits never changes (numbers that do are read from memory by kernels): it is submitted the first time,
// when libraries set themselves up, captured the second, and replayed from then on. Where collectives wait on the host, so is each run
// of commands between two events of the compute queue.
//
// Commands that cross the border between two sections are not part of that: those that outlast `update`, and early ones of the section
// that follows. They are put on their streams beside it each time, behind events that its graph records for them, and the next
// section's graph waits for theirs, command by command, as the plan says. Whatever else follows waits for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_STREAMSECTIONS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_STREAMSECTIONS_H

#include "lib/Runtime/Executor/Sections.h"
#include "zero/Runtime/HAL/Stream.h"
#include "zero/Runtime/HAL/StreamMarks.h"
#include <deque>
#include <map>
#include <optional>

namespace zero {

struct StreamSectionsOptions {
  /// Queues other than the compute queue have threads of their own: what they submit cannot be captured.
  bool threads = false;
  /// Otherwise everything is submitted each time.
  bool captures = true;
  /// Of the compute queue, around its waits for other queues; null: nobody asks.
  StreamMarks *waits = nullptr;
};

class StreamSections {
public:
  /// The arguments outlive it, and the sections that it has run.
  StreamSections(StreamDevice &device, Queues &queues, const StreamSectionsOptions &options, Failure &failure)
      : device(device), queues(queues), options(options), failure(failure) {}

  /// Puts the section on the streams, but for the commands that its `submitted` counts, which are there already; and, if it is `followed`
  /// by `next`, the early commands of that one. `next` is null where nothing of what may follow is ever early, and the same each time.
  /// `updates`: how often section update has run. An error is raised as the failure, too.
  Status run(Section &section, Section *next, bool followed, uint64_t updates);
  /// Seconds that the compute stream has stood in waits for others so far; none where nobody asks.
  std::optional<double> waitedSeconds();

private:
  /// Steps [begin, end) of a section: captured, or a single one that is submitted.
  struct Part {
    size_t begin, end;
    bool isCaptured;
    std::unique_ptr<StreamGraph> graph; ///< from its second run on
  };
  /// What a section has beside its steps.
  struct Frame {
    const Section *section;
    std::array<bool, kQueueCount> forks = {}; ///< queues other than the compute queue that it uses, but for what outlasts it
    std::unique_ptr<Event> begins;
    std::unique_ptr<Event> opens; ///< the same, for what crosses its end
    std::array<std::unique_ptr<Event>, kQueueCount> ends;
    std::map<const Event *, size_t> recorders; ///< the steps that record them
    /// Of events of its graph that commands beside it wait for: what these wait for instead.
    std::map<const Event *, std::unique_ptr<Event>> outside;
    std::vector<size_t> behind; ///< steps that outlast it
    std::vector<Part> parts; ///< where queues have threads
    std::unique_ptr<StreamGraph> graph; ///< of the whole section, where they have none
    size_t graphBegin = 0; ///< the step that the graph begins with
    bool graphWaits = false; ///< for what has crossed the end of a section; before something has, there is nothing to wait for
  };
  /// One run of a section.
  struct Pass {
    Frame &frame;
    uint64_t instance, updates;
    size_t begin; ///< the first step that is not on its stream yet
    bool captures = false;
  };
  Frame &frameOf(const Section &section, const Section *next);
  std::vector<Part> partsOf(const Section &section) const;
  void fork(const Pass &pass);
  void join(const Pass &pass);
  template <typename Body> Status capture(std::unique_ptr<StreamGraph> &graph, Body body);
  Status runWhole(Section &section, Pass pass);
  Status runParts(Section &section, const Pass &pass);
  /// Lets the compute stream wait, between two marks where somebody asks for how long.
  template <typename Body> void waitOnCompute(Body waits);
  void wait(const Step &step, const Pass &pass);
  void submit(Step &step, const Pass &pass);
  /// What crosses the end of a section.
  void submitAcross(Section &section, Section *next, const Pass &pass);
  /// Lets the compute stream wait for all that has crossed the end of a section.
  void joinAcross();
  Queue &compute() const { return *queues[kCompute]; }
  void note(const Status &status) {
    if (!status.ok())
      failure.raise(status);
  }

  static constexpr size_t kCompute = 0;
  StreamDevice &device;
  Queues &queues;
  const StreamSectionsOptions options;
  Failure &failure;
  std::deque<Frame> frames;
  /// The last of what has crossed the end of a section, for each queue, and how often something has.
  std::array<std::unique_ptr<Event>, kQueueCount> across;
  std::array<uint64_t, kQueueCount> crossings = {}, joined = {};
  int64_t waitBegan = 0, waited = 0; ///< nanoseconds
};

} // namespace zero

#endif
