//===- ClusterGraph.h - Ops of a block, contracted to clusters ------------===//
#ifndef ZERO_LIB_TRANSFORMS_NN_CLUSTERGRAPH_H
#define ZERO_LIB_TRANSFORMS_NN_CLUSTERGRAPH_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace zero {

/// The ops of a block as the nodes of a graph without cycles; joining two of them keeps it so. Transparent
/// ops are no nodes: who reads their results reads what they read. The nodes stand in an order in which none
/// reads a later one, so that a path is looked for between the places of its ends only.
class ClusterGraph {
public:
  ClusterGraph(mlir::Block &block, llvm::function_ref<bool(mlir::Operation *)> isTransparent);

  /// The op that stands for the node of `op`, its last; null for transparent ops.
  mlir::Operation *getLeader(mlir::Operation *op) const;
  /// The ops of a node, in the order of the block.
  llvm::ArrayRef<mlir::Operation *> getMembers(mlir::Operation *leader) const {
    return members[numbers.at(leader)];
  }
  /// The ops that read `op`'s results, directly or through transparent ops.
  llvm::ArrayRef<mlir::Operation *> getReaders(mlir::Operation *op) const { return readers[numbers.at(op)]; }
  /// The members of both nodes together, in the order of the block.
  llvm::SmallVector<mlir::Operation *> mergeMembers(mlir::Operation *a, mlir::Operation *b) const;
  /// Joins two nodes, unless a path leads from one to the other through a third.
  bool tryJoin(mlir::Operation *a, mlir::Operation *b);
  /// Where the op stood in the block.
  size_t getPlace(mlir::Operation *op) const { return numbers.at(op); }
  /// The nodes looked at by all joins so far: what they cost.
  uint64_t getSteps() const { return steps; }

private:
  static constexpr unsigned kNone = ~0u;
  unsigned find(unsigned number) const;
  void orderSequence();

  // Ops are their number in the block here.
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::vector<mlir::Operation *> ops;
  mutable std::vector<unsigned> parents; // towards the leader; kNone of transparent ops
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> readers, members;
  std::vector<llvm::SmallVector<unsigned, 2>> readerNumbers;
  std::vector<unsigned> sequence; // leaders in order; kNone where one was joined away
  std::vector<unsigned> ranks;    // of leaders in the sequence
  std::vector<unsigned> marks;    // the search that last reached the leader
  unsigned search = 0;
  uint64_t steps = 0;
};

} // namespace zero

#endif
