//===- Training.h - Runs a compiled program over data ---------------------===//
#ifndef ZERO_RUNTIME_EXECUTOR_TRAINING_H
#define ZERO_RUNTIME_EXECUTOR_TRAINING_H

#include "zero/Runtime/Data/DataSet.h"
#include "zero/Runtime/Executor/Executor.h"
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace zero {

class Container;

/// What a loss or gradient norm that is not finite does to a step; on all ranks alike.
enum class OnNan {
  Stop,  ///< the job ends, nothing is updated; of a loss scale that can still fall the step is skipped
  Skip,  ///< nothing is updated, training goes on
  Ignore ///< the update runs with what there is
};

enum class DeviceKind { Cpu, Cuda };

struct TrainingOptions {
  std::string program; ///< compiled.bin
  std::optional<DeviceKind> device; ///< none: what the program is compiled for
  DataOptions data;
  uint64_t steps = 0;  ///< 0: as long as the data last
  uint64_t epochs = 0; ///< 0: one
  bool seedGiven = false;
  std::optional<OnNan> onNan; ///< none: Skip where parameters are of 16 bits, else Stop
  unsigned threads = 1;
  bool nccl = false; ///< asked for by name
  /// Of a program of GPUs: its collectives go through the host's memory, not over NCCL.
  bool stagedChannels = false;
  std::optional<KernelOptions> instructionSet; ///< none: the most that all ranks have
  bool sharedMemoryGiven = false; ///< --shared-memory was asked for, which is of hosts' memory
  std::string metricsPath, tracePath, exportPath, predictPath; ///< empty: none
  uint64_t processBytesAtStart = 0, peakResidentBytesAtStart = 0; ///< of this process at the entry of main (ProcessMemory.h)

  /// Whoever asks for predictions alone wants those of the weights as they are.
  bool trains() const { return predictPath.empty() || steps != 0 || epochs != 0; }
};

/// A job of a process that trains, or predicts, or both in that order: its ranks share the program and the data.
class Training {
public:
  explicit Training(TrainingOptions options) : options(std::move(options)) { this->options.data.trains = this->options.trains(); }
  /// Runs one rank from the first to the last step, and its part of the predictions.
  Status run(Bootstrap &bootstrap);

private:
  Status check(const Container &container) const;
  Status checkDevice(const Container &container) const;
  Expected<std::shared_ptr<const Container>> openProgram();
  OnNan getOnNan(const schema::Plan &plan) const;
  Expected<std::shared_ptr<const DataSet>> openData(const schema::Plan &plan);

  TrainingOptions options;
  std::mutex mutex;
  std::shared_ptr<const Container> program;
  std::shared_ptr<const DataSet> data;
  uint64_t dataFingerprint = 0;
};

} // namespace zero

#endif
