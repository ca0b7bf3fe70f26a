//===- Executor.h - Runs the sections of a plan ---------------------------===//
//
// Walks the plan and decides nothing: which command runs where and after what is the compiler's work.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_EXECUTOR_EXECUTOR_H
#define ZERO_RUNTIME_EXECUTOR_EXECUTOR_H

#include "zero/Container/Container.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include "zero/Runtime/HAL/Device.h"
#include "zero/Runtime/Kernels/Kernel.h"
#include <functional>
#include <optional>
#include <string_view>

namespace zero {

class Trace;

/// What ranks whose devices have streams exchange bytes by.
enum class StreamComm {
  Nccl,  ///< from device to device: each rank needs one of its own
  Staged ///< through the host and the job's channels
};

struct ExecutorOptions {
  unsigned threads = 1;
  /// Where it runs, or is only shown; the CPU where not set.
  std::function<Expected<std::unique_ptr<Device>>()> createDevice;
  StreamComm comm = StreamComm::Nccl;
  /// Whether `communicationTimes` says how long a compute stream waits, which two marks around each wait tell. (CPUs say it in any case.)
  bool measuresWaits = false;
  Trace *trace = nullptr; ///< receives what every command did, where set
  uint64_t delaySeed = 0; ///< for tests: where not 0, every command starts late by a time that the seed decides
  std::optional<KernelOptions> instructionSet; ///< what kernels use, all of it and no more; none: the most that all ranks have
  /// What the program's step scalar of that name is set to: a loss or norm that is not finite changes no state.
  bool skipNonFinite = true;
};

/// Bytes that this rank has sent, by kind of collective; those of collectives under way included.
struct Traffic {
  uint64_t allGather = 0;
  uint64_t reduceScatter = 0;
  uint64_t control = 0;
};

/// Seconds of communication so far.
struct CommunicationTimes {
  double total = 0;   ///< while at least one collective of this rank was under way
  std::optional<double> exposed = 0; ///< while the compute queue did nothing but wait for one; none where nobody measures it
};

struct StepResults {
  float loss = 0;
  float gradNorm = 0;
  int64_t labelCount = -1; ///< -1 where the program does not count labels
  bool skipped = false;    ///< the update was held back: no state has changed
  float ownLossSum = 0;    ///< this rank's loss before it was summed over the ranks
  float lossScale = 0;     ///< what the gradients of this step were multiplied by; 0 where they are not scaled
};

/// One rank's execution of a container: its memory, kernels, queues and channels. `container` and `bootstrap` outlive it.
class Executor {
public:
  /// Every rank calls it; the outcome is agreed on: all succeed, or all fail with the same error.
  static Expected<std::unique_ptr<Executor>> create(const Container &container, Bootstrap &bootstrap,
                                                    const ExecutorOptions &options);
  ~Executor();

  /// Where the input of the plan with that index is written before each micro-batch or prediction: after one, it may be elsewhere.
  void *input(size_t index) const;
  /// Runs one micro-batch; the first of a step is number 0.
  Status runMicroBatch(unsigned number);
  /// Runs the update that is number `step` (from 1) of those that changed the states. `followed`: a micro-batch comes next, whose first
  /// gathers may start early; where something else runs all the same, they are started again with the micro-batch.
  Status runUpdate(uint64_t step, bool followed = false);
  /// Whether sections may still be under way when the calls above return: the first micro-batch of the next step may then be run before
  /// `awaitUpdate` of this one, which changes no state.
  bool runsAhead() const;
  /// Until the update that was run last has run; its results.
  Status awaitUpdate();
  StepResults results() const;
  /// One character for each slot of each bucket in the plan's order: '1' where the gradients that this rank holds after
  /// `runUpdate` are not all finite. Asked of a step whose loss or norm is not.
  Expected<std::string> nonFiniteGradients() const;
  /// Waits for gathers of updated parameters that `runUpdate` leaves under way, as the next micro-batch waits for each before it reads
  /// the parameters and every other section at its start. Before parameters are read back.
  Status finish();
  /// Ends what the ranks share, when all of them are done with it: every rank calls it last. An executor that is destroyed without (after an
  /// error, which peers may not know of) waits for nobody.
  Status close();
  /// Runs section predict, which the plan must have.
  Status runPredict();
  /// Where the output of the plan with that index lies after `runPredict`, until the next section runs.
  const std::byte *output(size_t index) const;
  /// The learning rate of the plan.
  double learningRate() const;

  Traffic traffic() const;
  /// Bytes of zeros that were counted as sent and were no part of a message (Channel::bytesOmitted), by collectives that have run.
  uint64_t bytesOmitted() const;
  /// On a device with streams, of what they have passed by now.
  CommunicationTimes communicationTimes();
  /// Bytes of all device arenas.
  uint64_t deviceBytes() const;
  /// The most elements of gathered parameters that were held at once, from the start of a gather to the last command that
  /// touches what it gathered.
  uint64_t peakGatheredElements() const;
  /// What computes, for people: "x86-64-v4", "NVIDIA H200 (sm_90)".
  std::string deviceDescription() const;
  /// What whoever starts the program is to know: of a library's work that kernels of the program do.
  std::vector<std::string> notes() const;
  /// Bytes of the device's memory in use beside the plan's arenas, by whomever; none of a CPU.
  Expected<std::optional<uint64_t>> otherDeviceBytes() const;

  /// Reads parameters back, in the type of the bucket's weights: this rank's elements of a bucket, or all of them where they
  /// are whole here (`sharded` false). Of 16-bit parameters that started from float32 it is their masters.
  struct Parameters {
    uint64_t bytes;
    bool sharded;
  };
  Parameters parameters(size_t bucket) const;
  /// Most that `readParameters` gives at once.
  static constexpr uint64_t kReadBytes = 4 << 20;
  /// `size` of those bytes from `offset` on, until the next call. To be read in order behind `parameters`, with no section in between: from a device
  /// the next ones are on their way then.
  Expected<const std::byte *> readParameters(size_t bucket, uint64_t offset, uint64_t size) const;

private:
  struct Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// As --isa names it and the first line of a run shows it: "x86-64-v4-bf16".
std::string instructionSetName(const KernelOptions &options);

/// An error where the program is compiled for another number of ranks than `ranks`.
Status checkWorldSize(const Container &container, unsigned ranks);

/// The command that compiles the same program for another world size, for messages.
std::string recompileCommand(const Container &container, unsigned worldSize);

} // namespace zero

#endif
