//===- DataSet.h - The samples that a program trains on -------------------===//
//
// Everything about the data that can be wrong is found when it is opened: after that, reading samples fails only where the file
// has changed.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_DATA_DATASET_H
#define ZERO_RUNTIME_DATA_DATASET_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zero::schema {
struct Plan;
}

namespace zero {

class DataSet {
public:
  virtual ~DataSet() = default;
  /// Samples of one epoch.
  virtual uint64_t samples() const = 0;
  /// Copies `count` samples of the plan's input number `input`, from place `first` of the order of `epoch`, to `target`.
  virtual Status read(size_t input, uint64_t epoch, uint64_t first, uint64_t count, void *target) const = 0;
  /// The same in the order of the file. Of an unbatched input: all of it.
  virtual Status readInOrder(size_t input, uint64_t first, uint64_t count, void *target) const = 0;
  /// What the user may want to know, one line each.
  std::vector<std::string> notes;
};

enum class DataFormat { Npz, Bytes, U16 };

struct DataOptions {
  std::string path;
  DataFormat format = DataFormat::Npz;
  uint64_t sequenceLength = 0; ///< of token files
  uint64_t seed = 0;
  bool trains = true; ///< false: only what section predict reads has to be there
};

/// Opens the data and checks them against the plan's inputs: names, types, shapes, values.
Expected<std::unique_ptr<DataSet>> openDataSet(const DataOptions &options, const schema::Plan &plan);

/// A checksum of the file: of all of it, or where it is larger than 16 MiB of 256 pieces spread evenly, the first and the last
/// among them.
Expected<uint64_t> fingerprintData(const std::string &path);

/// How long the data last.
struct Schedule {
  uint64_t steps;         ///< to run
  uint64_t stepsPerEpoch; ///< whole steps that one pass over the data gives
};

/// Decides the number of steps from `--steps` and `--epochs` (0: not given); an error where the data end before.
Expected<Schedule> planSteps(const DataSet &data, const DataOptions &options, uint64_t samplesPerStep, uint64_t steps,
                             uint64_t epochs);

} // namespace zero

#endif
