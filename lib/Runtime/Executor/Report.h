//===- Report.h - What rank 0 says while training -------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_REPORT_H
#define ZERO_LIB_RUNTIME_EXECUTOR_REPORT_H

#include "zero/Runtime/Executor/Executor.h"
#include <cstdio>

namespace zero {

/// One step, as the metrics file and the progress line tell it.
struct StepReport {
  uint64_t step;
  StepResults results;
  double learningRate;
  double seconds;
  double predictedSeconds; ///< as the compiler thought
  double samplesPerSecond;
  Traffic traffic; ///< of this step
  uint64_t bytesOmitted = 0; ///< of them, as far as they were sent while it ran
  CommunicationTimes communication; ///< of this step, of the rank that waited longest
  std::string device; ///< what computes
  uint64_t deviceBytes;
  std::optional<uint64_t> otherDeviceBytes; ///< in use on the device beside them, of the rank whose device has most; none on CPUs
  uint64_t peakGatheredElements;
  uint64_t processBytes; ///< beyond those at the entry of main, of the process with most
  uint64_t peakProcessBytes;  ///< the most of VmHWM beyond what it was at the entry of main
  uint64_t peakResidentBytes; ///< the most of VmHWM
  uint64_t skippedSteps; ///< up to this one
};

/// One JSON object a step, one line each, complete after every step.
class MetricsFile {
public:
  ~MetricsFile();
  Status open(const std::string &path);
  Status write(const StepReport &report);

private:
  std::string path;
  std::FILE *file = nullptr;
  uint64_t size = 0; ///< of the lines that are there whole
};

/// A line that is drawn over on a terminal; plain lines in a log.
class Progress {
public:
  Progress(uint64_t steps, uint64_t stepsPerLine);
  void show(const StepReport &report);
  void finish();

private:
  uint64_t steps, stepsPerLine;
  bool terminal;
  double elapsed = 0, shown = -1;
  uint64_t done = 0;
};

/// A loss scale as people write it, every digit of a power of 2 up to 2^49: 65536, 0.5.
std::string lossScaleText(float scale);

/// Whether what is printed reaches a terminal, also through mpirun.
bool outputIsTerminal();

} // namespace zero

#endif
