//===- PipelineFlags.h - The flags that zero-opt and zero-compile share ---===//
#ifndef ZERO_PIPELINES_PIPELINEFLAGS_H
#define ZERO_PIPELINES_PIPELINEFLAGS_H

#include "zero/Pipelines/Pipelines.h"
#include "llvm/Support/CommandLine.h"

namespace zero {

/// Declares the flags on construction; construct once, before the command line is parsed.
class PipelineFlags {
public:
  explicit PipelineFlags(Phase defaultStop);

  /// Whether any of them was given.
  bool anyGiven() const;
  /// What was asked for; an error names the flag or the key of the configuration file. The code of a flag's error is
  /// std::errc::invalid_argument, that of the file's is not.
  llvm::Expected<PipelineRequest> getRequest() const;
  bool isWorldSizeGiven() const { return worldSize.getNumOccurrences() != 0; }
  llvm::cl::OptionCategory &getCategory() { return category; }

private:
  llvm::cl::OptionCategory category;
  std::string compileToHelp;  // flags refer to their help, so it lives as long as they do
  llvm::cl::opt<int64_t> stage;
  llvm::cl::opt<bool> prefetch;
  llvm::cl::opt<int64_t> worldSize;
  llvm::cl::opt<std::string> compileTo;
  llvm::cl::opt<std::string> dumpPhases;
  llvm::cl::opt<std::string> configFile;
  llvm::cl::opt<std::string> target;
  llvm::cl::opt<bool> deterministic, fast, tf32, epilogues;
  llvm::cl::opt<std::string> convolutions;
  llvm::cl::opt<int64_t> cudaWorkspace;
  llvm::cl::opt<bool> remarks;
};

} // namespace zero

#endif
