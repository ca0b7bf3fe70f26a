//===- Flags.h - The command line of zero-run -----------------------------===//
#ifndef ZERO_TOOLS_ZERO_RUN_FLAGS_H
#define ZERO_TOOLS_ZERO_RUN_FLAGS_H

#include "zero/Runtime/Executor/Training.h"
#include <optional>

namespace zero {

enum class CommKind { Nccl, Mpi, Loopback };

struct RunFlags {
  TrainingOptions training;
  bool traces = false;          ///< --device=trace
  std::optional<CommKind> comm; ///< as given; none: auto
  unsigned ranks = 0;           ///< 0: the file's world size
  double timeoutSeconds = 60;
  bool sharedMemory = true;
  uint64_t linkBytesPerSecond = 0; ///< 0: as fast as memory is
  std::string flightRecorder; ///< a folder; empty: none
  bool flightRecorderGiven = false;
};

/// Reads the command line. Gives nothing where the user asked for help or the version, which is then in `output`.
Expected<std::optional<RunFlags>> parseFlags(int argc, char **argv, std::string &output);

} // namespace zero

#endif
