//===- Training.h - Runs a compiled program over data ---------------------===//
#ifndef ZERO_RUNTIME_EXECUTOR_TRAINING_H
#define ZERO_RUNTIME_EXECUTOR_TRAINING_H

#include "zero/Runtime/Data/DataSet.h"
#include "zero/Runtime/HAL/Bootstrap.h"
#include <cstdint>
#include <mutex>
#include <string>

namespace zero {

struct TrainingOptions {
  std::string program; ///< compiled.bin
  DataOptions data;
  uint64_t steps = 0;  ///< 0: as long as the data last
  uint64_t epochs = 0; ///< 0: one
  bool seedGiven = false;
  unsigned threads = 1;
  std::string metricsPath, tracePath, exportPath; ///< empty: none
};

/// A training job of a process: its ranks share the data.
class Training {
public:
  explicit Training(TrainingOptions options) : options(std::move(options)) {}
  /// Runs one rank from the first to the last step.
  Status run(Bootstrap &bootstrap);

private:
  Expected<std::shared_ptr<const DataSet>> openData(const schema::Plan &plan);

  TrainingOptions options;
  std::mutex mutex;
  std::shared_ptr<const DataSet> data;
};

} // namespace zero

#endif
