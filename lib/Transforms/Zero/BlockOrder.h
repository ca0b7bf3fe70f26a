//===- BlockOrder.h - The order of a block's ops while some are moved -----===//
#ifndef ZERO_LIB_TRANSFORMS_ZERO_BLOCKORDER_H
#define ZERO_LIB_TRANSFORMS_ZERO_BLOCKORDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace zero::sharding {

/// Answers which of two ops comes first. Operation::isBeforeInBlock numbers the whole block anew after every move, which
/// takes time in proportion to ops x moves; here a moved op gets a number between those of its neighbours. All moves
/// must be made through it.
class BlockOrder {
public:
  explicit BlockOrder(mlir::Block &block) : block(block) { renumber(); }

  bool isBefore(mlir::Operation *a, mlir::Operation *b) const { return numbers.lookup(a) < numbers.lookup(b); }
  void moveBefore(mlir::Operation *op, mlir::Operation *target);

private:
  void renumber();

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, uint64_t> numbers;
};

} // namespace zero::sharding

#endif
