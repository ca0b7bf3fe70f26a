//===- StreamSections.h - Sections on a device with streams ---------------===//
//
// The host does not wait at the end of a section: what follows is put behind it on the compute stream, which waits for the other streams
// at the end of each section as they wait for it at the beginning. So on the device all queues are idle between sections, as a plan
// supposes. What a section submits never changes (numbers that do are read from memory by kernels): it is submitted the first time,
// when libraries set themselves up, captured the second, and replayed from then on. Where collectives wait on the host, so is each run
// of commands between two events of the compute queue.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_STREAMSECTIONS_H
#define ZERO_LIB_RUNTIME_EXECUTOR_STREAMSECTIONS_H

#include "lib/Runtime/Executor/Sections.h"
#include "zero/Runtime/HAL/Stream.h"
#include <deque>

namespace zero {

struct StreamSectionsOptions {
  /// Queues other than the compute queue have threads of their own: what they submit cannot be captured.
  bool threads = false;
  /// Otherwise everything is submitted each time.
  bool captures = true;
};

class StreamSections {
public:
  /// The arguments outlive it, and the sections that it has run.
  StreamSections(StreamDevice &device, Queues &queues, const StreamSectionsOptions &options, Failure &failure, GatheredElements &gathered)
      : device(device), queues(queues), options(options), failure(failure), gathered(gathered) {}

  /// Puts the section on the streams. An error is raised as the failure, too.
  Status run(Section &section);

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
    std::array<bool, kQueueCount> forks = {}; ///< queues other than the compute queue that it uses
    std::unique_ptr<Event> begins;
    std::array<std::unique_ptr<Event>, kQueueCount> ends;
    std::vector<Part> parts; ///< where queues have threads
    std::unique_ptr<StreamGraph> graph; ///< of the whole section, where they have none
  };
  Frame &frameOf(const Section &section);
  std::vector<Part> partsOf(const Section &section) const;
  void fork(Frame &frame, uint64_t instance);
  void join(Frame &frame, uint64_t instance);
  template <typename Body> Status capture(std::unique_ptr<StreamGraph> &graph, Body body);
  Status runWhole(Section &section, Frame &frame);
  Status runParts(Section &section, Frame &frame);
  Queue &compute() const { return *queues[kCompute]; }

  static constexpr size_t kCompute = 0;
  StreamDevice &device;
  Queues &queues;
  const StreamSectionsOptions options;
  Failure &failure;
  GatheredElements &gathered;
  std::deque<Frame> frames;
};

} // namespace zero

#endif
