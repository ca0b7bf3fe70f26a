//===- PlanMemory.h - Which bytes the commands of a plan touch, and when --===//
#ifndef ZERO_ANALYSIS_PLANMEMORY_H
#define ZERO_ANALYSIS_PLANMEMORY_H

#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace zero {

/// Bytes [begin, end) of a buffer that a command reads or writes. Where each rank has its own range, the
/// ranges of all ranks.
struct BufferAccess {
  unsigned buffer;
  int64_t begin, end;
  bool write;
};

/// A command, its queue and what it touches.
struct PlanCommand {
  mlir::Operation *op;
  plan::QueueKind queue;
  llvm::SmallVector<BufferAccess, 4> accesses;
};

/// When a buffer holds something: commands [first, last] of a section.
struct LiveRange {
  unsigned section;
  int64_t first, last;
  bool overlaps(const LiveRange &other) const {
    return section == other.section && first <= other.last && other.first <= last;
  }
};

/// Buffers, sections and commands of a plan, numbered in program order.
class PlanMemory {
public:
  /// Every slice must name a buffer (plan-verify checks).
  explicit PlanMemory(mlir::ModuleOp module);

  int64_t getWorldSize() const { return worldSize; }
  llvm::ArrayRef<plan::BufferOp> getBuffers() const { return buffers; }
  llvm::ArrayRef<plan::SectionOp> getSections() const { return sections; }
  llvm::ArrayRef<PlanCommand> getCommands(unsigned section) const { return commands[section]; }
  /// The number of a buffer, or none.
  std::optional<unsigned> findBuffer(mlir::FlatSymbolRefAttr name) const;

  /// Live ranges of every buffer that does not live for the whole run, one for each section that uses it:
  /// from the first to the last access; what a collective touches lives until the program waits for it, an output
  /// to the end of section `predict`. What an early gather of `micro_first` touches lives in `update`, too, behind the last command
  /// that writes what it or one before it gathers.
  std::vector<llvm::SmallVector<LiveRange, 1>> computeLiveRanges() const;

  /// The commands of `update` that may still run in section `micro_first`, which follows; of any other section none.
  std::vector<PlanCommand> getCarriedCommands(unsigned section) const;

  /// The first commands of `micro_first` that may run in section `update` already, which comes before; of any other section none.
  std::vector<PlanCommand> getEarlyCommands(unsigned section) const;

  /// What is read after the section has run: the bytes of outputs, in no other section than `predict`.
  llvm::ArrayRef<plan::OutputOp> getOutputs(unsigned section) const;

private:
  void addAccess(PlanCommand &command, plan::SliceAttr slice, bool write);
  void addEarlyRanges(unsigned section, std::vector<llvm::SmallVector<LiveRange, 1>> &ranges) const;

  int64_t worldSize = 1;
  llvm::SmallVector<plan::BufferOp> buffers;
  llvm::DenseMap<mlir::Attribute, unsigned> bufferNumbers;
  llvm::SmallVector<plan::SectionOp> sections;
  llvm::SmallVector<plan::OutputOp> outputs;
  std::vector<std::vector<PlanCommand>> commands;
};

/// The queue, waits and recorded event of any command.
plan::QueueKind getQueue(mlir::Operation *command);
llvm::ArrayRef<int64_t> getWaits(mlir::Operation *command);
std::optional<int64_t> getRecord(mlir::Operation *command);
/// The events of section `update` of the step before that a command waits for.
llvm::ArrayRef<int64_t> getCarriedWaits(mlir::Operation *command);
/// Whether the command is a collective that is submitted in section `update` already, and the events of that section after which it is.
bool isEarly(mlir::Operation *command);
llvm::ArrayRef<int64_t> getEarlyWaits(mlir::Operation *command);
/// Whether the command is a collective that its section does not wait for.
bool outlastsSection(mlir::Operation *command);
/// The slices that a command reads, then those that it writes.
void getSlices(mlir::Operation *command, llvm::SmallVectorImpl<plan::SliceAttr> &reads,
               llvm::SmallVectorImpl<plan::SliceAttr> &writes);
/// The ranks of the module's mesh; 1 where it has none.
int64_t getWorldSize(mlir::ModuleOp module);

} // namespace zero

#endif
