//===- RankStates.h - How a value on one rank relates to the others' ------===//
//
// A forward walk over one function: functions of a step are straight lines, so that no fixed point is needed.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_RANKSTATES_H
#define ZERO_ANALYSIS_RANKSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <string>

namespace zero {

enum class RankRelation {
  Replicated, ///< the same on all ranks
  Sharded,    ///< this rank's range of one thing
  PerRank,    ///< whatever this rank's data give
  Partial,    ///< this rank's part of a sum that is still to be taken
};

struct RankState {
  RankRelation relation = RankRelation::Replicated;
  /// It holds a sum over the ranks: summed again it would count each rank's part N times.
  bool reduced = false;
  /// A zero.update gave it: a state of the next step.
  bool updated = false;
  /// Where `relation` and `reduced` came to be.
  mlir::Value relationFrom, reducedFrom;
};

/// An op that no function of contributions, ranges and equal values may hold, and the other place of the error.
struct RankFault {
  mlir::Location loc;
  std::string message;
  std::optional<mlir::Location> other;
  std::string note;
};

/// The states of all values of `function`, whose arguments are what their types and `nn.role`s say. On a mesh of one
/// rank everything is replicated and nothing is at fault.
class RankStates {
public:
  explicit RankStates(mlir::func::FuncOp function);

  const RankState &get(mlir::Value value) const { return states.find(value)->second; }
  /// In program order.
  llvm::ArrayRef<RankFault> getFaults() const { return faults; }

private:
  void enter(mlir::Operation *op);
  void enterCompute(mlir::Operation *op);
  void enterGroup(mlir::Operation *group);
  RankState join(mlir::OperandRange operands) const;
  void setResults(mlir::Operation *op, RankState state);
  void requireReduced(mlir::Operation *op, mlir::Value gradient, llvm::StringRef what);
  void requireContribution(mlir::Operation *op, mlir::Value value, llvm::StringRef what);
  void checkResults(mlir::Operation *end);
  void fault(mlir::Operation *op, std::string message, mlir::Value other, std::string note);

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, RankState> states;
  llvm::SmallVector<RankFault> faults;
};

} // namespace zero

#endif
