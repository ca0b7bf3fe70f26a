//===- ImportFlags.h - The importer's flags, shared by zero-import and zero-compile ---===//
#ifndef ZERO_IMPORT_IMPORTFLAGS_H
#define ZERO_IMPORT_IMPORTFLAGS_H

#include "zero/Import/ONNX.h"
#include "llvm/Support/CommandLine.h"

namespace zero {

/// Registers the flags when constructed: one object per program, before the command line is parsed.
class ImportFlags {
public:
  /// Help is listed under `category`.
  explicit ImportFlags(llvm::cl::OptionCategory &category);

  /// The options that the flags say; prints to stderr what is wrong (usage: exit code 2) and returns none. A loss is
  /// needed, and labels where it reads any, but not where parameters are only listed or counted.
  std::optional<ImportOptions> parse(llvm::StringRef toolName, bool countsOnly = false) const;

  /// The first of these flags that was given, without dashes; empty if none was (they are errors beside a
  /// `.mlir`).
  llvm::StringRef firstGiven() const;

  /// Whether the model's weights are to be listed, not imported (--list-parameters).
  bool listsParameters() const { return list; }

private:
  llvm::cl::opt<std::string> loss, labels, train, freeze, trainConstants;
  llvm::cl::list<std::string> init;
  llvm::cl::opt<uint64_t> initSeed;
  llvm::cl::opt<bool> list;
  llvm::cl::opt<unsigned> classAxis;
  llvm::cl::list<std::string> dims, boundInputs, paddingRows;
};

} // namespace zero

#endif
